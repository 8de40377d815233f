#include "engine/read/run_source.h"

#include <algorithm>
#include <iterator>

#include "engine/read/run_iterator.h"

namespace cellar::engine {

RunSource::RunSource(std::vector<const TableSlice*> tables, bool prune)
    : tables_(std::move(tables)), prune_(prune), ranges_(&joined_) {
  for (const TableSlice* table : tables_) {
    if (table->range_deletes().empty()) continue;
    if (ranges_->empty()) {
      ranges_ = &table->range_deletes();
      continue;
    }
    if (ranges_ != &joined_) joined_ = *ranges_;
    joined_.insert(joined_.end(), table->range_deletes().begin(), table->range_deletes().end());
    ranges_ = &joined_;
  }
  std::erase_if(tables_, [](const TableSlice* table) { return !table->may_have_entries(); });
}

const std::vector<StampedRange>& RunSource::range_deletes() const { return *ranges_; }

std::pair<RunSource::Place, RunSource::Place> RunSource::tables_in(const ReadScope& scope) const {
  auto first = tables_.begin();
  auto end = tables_.end();
  if (!prune_) return {first, end};
  first = std::partition_point(
      first, end, [&scope](const TableSlice* slice) { return slice->ends_before(scope.lower); });
  end = std::partition_point(
      first, end, [&scope](const TableSlice* slice) { return slice->begins_before(scope.upper); });
  return {first, end};
}

bool RunSource::is_wanted(const TableSlice& slice, const ReadScope& scope) const {
  if (!prune_) return true;
  return (scope.probe == nullptr || slice.table().may_contain(*scope.probe)) &&
         !scope.times().excludes(slice.table().meta().bounds);
}

EntryIterator* RunSource::open(const ReadScope& scope, IteratorArena& arena) const {
  const auto [begin, end] = tables_in(scope);
  const auto wants = [&](const TableSlice* slice) { return is_wanted(*slice, scope); };
  const auto first = std::find_if(begin, end, wants);
  if (first == end) return nullptr;
  TableIteratorOptions options;
  options.window = prune_ ? scope.window : nullptr;
  if (prune_) options.times = scope.times();
  options.prefetch = scope.prefetch;
  options.one_search = scope.probe != nullptr;
  const auto second = std::find_if(first + 1, end, wants);
  if (second == end) {
    const TableSlice& only = **first;
    if (only.is_cut()) return arena.make<SliceIterator>(only, options);
    return arena.make<TableIterator>(only.table(), options);
  }
  std::vector<const TableSlice*> wanted = {*first};
  std::copy_if(second, end, std::back_inserter(wanted), wants);
  return arena.make<RunIterator>(std::move(wanted), options);
}

void RunSource::prefetch(const ReadScope& scope, size_t place) const {
  const auto [begin, end] = tables_in(scope);
  const auto first =
      std::find_if(begin, end, [&](const TableSlice* slice) { return is_wanted(*slice, scope); });
  if (first == end) return;
  TableReader& table = (*first)->table();
  const size_t block = table.index().find(std::max(scope.lower, (*first)->lower()));
  if (prune_ && !scope.times().everything() &&
      scope.times().excludes(table.index().bounds(block))) {
    return;
  }
  scope.prefetch->add(table, block, place);
}

}  // namespace cellar::engine
