#include "engine/read/row_columns.h"

#include "io/base/check.h"

namespace cellar::engine {
static_assert(ColumnList::kMostColumns <= kMostNamedColumns);

const NamedColumns* RowColumns::of(const ReadSources& sources) {
  const ColumnList* first = nullptr;
  bool one = true;
  bool differ = false;
  for (const auto& source : sources) {
    const ColumnList* columns = source->bounds().columns;
    if (columns == nullptr || !columns->known()) return nullptr;
    if (columns->empty()) continue;
    if (first == nullptr) {
      first = columns;
      continue;
    }
    one = false;
    differ |= *columns != *first;
  }
  if (one) return nullptr;
  if (!differ && *first == list_) return &names_;
  ColumnList all = *first;
  if (differ) {
    for (const auto& source : sources) all.merge(*source->bounds().columns);
    if (!all.known()) return nullptr;
    if (all == list_) return &names_;
  }
  names_.clear();
  all.for_each([this](Bytes column) {
    Bytes family;
    Bytes qualifier;
    std::string scratch;
    CHECK(split_column(column, family, qualifier, scratch), "malformed column {}",
          escape_bytes(column));
    names_.push_back({std::string(family), std::string(qualifier)});
  });
  list_ = std::move(all);
  return &names_;
}

}  // namespace cellar::engine
