#include "engine/read/run_source.h"

#include <algorithm>
#include <iterator>

#include "engine/read/run_iterator.h"

namespace cellar::engine {

RunSource::RunSource(std::vector<const TableSlice*> tables, bool prune)
    : tables_(std::move(tables)), prune_(prune), ranges_(&joined_) {
  bounds_ = {true, INT64_MIN, CommitStamp{}, false, &columns_};
  for (const TableSlice* table : tables_) {
    const TableMeta& meta = table->table().meta();
    bounds_.known &= meta.bounds.known;
    bounds_.max_timestamp_us = std::max(bounds_.max_timestamp_us, meta.bounds.max_timestamp_us);
    bounds_.max_stamp = std::max(bounds_.max_stamp, meta.max_stamp);
    columns_.merge(meta.columns);
    bounds_.any_expiry |= meta.bounds.latest_expiry_us != INT64_MIN;
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

const std::vector<RangeTombstone>& RunSource::range_deletes() const { return *ranges_; }

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

// Of a row whose entries lie in two tables of the run: the first of them.
const TableReader* RunSource::table_of(Bytes row_prefix) const {
  const auto at = std::ranges::partition_point(
      tables_, [&](const TableSlice* slice) { return slice->ends_before(row_prefix); });
  if (at == tables_.end()) return nullptr;
  const Bytes first = (*at)->first();
  return first <= row_prefix || first.starts_with(row_prefix) ? &(*at)->table() : nullptr;
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
  if (prune_) options.probe = scope.probe;
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

bool RunSource::prefetch(const ReadScope& scope, size_t place) const {
  const auto [begin, end] = tables_in(scope);
  const auto first =
      std::find_if(begin, end, [&](const TableSlice* slice) { return is_wanted(*slice, scope); });
  if (first == end) return true;
  TableReader& table = (*first)->table();
  const Bytes key = std::max(scope.lower, (*first)->lower());
  const size_t mark = table.marks().find(key);
  const WantedTimes times = prune_ ? scope.times() : WantedTimes{};
  if (!times.everything() && times.excludes(table.marks().bounds(mark))) return true;
  if (table.top_index() != nullptr) return prefetch_by_part(scope, table, mark, key, place);
  const BlockHandle at = table.marks().handle(mark);
  if (at.size != 0) scope.prefetch->add(table, at, table.marks().raw_bytes(mark), place);
  return true;
}

bool RunSource::prefetch_by_part(const ReadScope& scope, TableReader& table, size_t number,
                                 Bytes key, size_t place) const {
  const BlockHandle at = table.top_index()->handle(number);
  BlockRef block = table.cached_part(number);
  if (!block) block = scope.prefetch->peek(table, at.offset);
  if (!block) {
    scope.prefetch->add(table, at, at.size, place);
    return false;
  }
  IndexPartition part;
  if (!table.open_part(block, number, part)) return true;  // the iterator reports the damage
  if (prune_ && scope.probe != nullptr && !table.may_contain(*scope.probe, part, number)) {
    return true;
  }
  const size_t i = part.find(key);
  const BlockHandle handle = part.handle(i);
  const WantedTimes times = prune_ ? scope.times() : WantedTimes{};
  const bool passed_over = !times.everything() && times.excludes(part.bounds(i));
  if (handle.size != 0 && !passed_over) {
    scope.prefetch->add(table, handle, part.raw_bytes(i), place);
  }
  return true;
}

}  // namespace cellar::engine
