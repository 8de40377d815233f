#include "engine/index/index_set.h"

#include <algorithm>

namespace cellar::engine {
namespace {

// Of a segment: 00 01.
constexpr size_t kSegmentEndBytes = 2;

std::string escape(Bytes qualifier) {
  std::string segment;
  append_row_prefix(segment, qualifier);
  segment.resize(segment.size() - kSegmentEndBytes);
  return segment;
}

}  // namespace

IndexSet::IndexSet(const std::vector<IndexSchema>& indexes) {
  indexes_.reserve(indexes.size());
  for (const IndexSchema& index : indexes) {
    indexes_.push_back({index, index.qualifier ? escape(*index.qualifier) : std::string()});
  }
}

size_t IndexSet::find(uint64_t id) const {
  const auto at = std::ranges::find(indexes_, id, [](const Index& one) { return one.schema.id; });
  return static_cast<size_t>(at - indexes_.begin());
}

IndexSetRef make_index_set(const std::vector<IndexSchema>& indexes) {
  return indexes.empty() ? nullptr : IndexSetRef(new IndexSet(indexes));
}

// The key of a cell has its qualifier, escaped, with its end; so has the entry's.
bool EntryMaker::make_key(const IndexSchema& index, const ParsedKey& cell, Bytes value) {
  key_.clear();
  const Bytes qualifier(cell.escaped_qualifier.data(),
                        cell.escaped_qualifier.size() + kSegmentEndBytes);
  return append_index_key(key_, index, cell.row_prefix, qualifier, cell.timestamp_us, value);
}

Bytes EntryMaker::expiry_of(const CellValue& value) {
  expiry_ = index_entry_value(value.expire_at_us);
  return expiry_;
}

}  // namespace cellar::engine
