#include "engine/read/run_source.h"

#include "engine/read/run_iterator.h"

namespace cellar::engine {

bool outside_range(const TimeBounds& bounds, const TimeRange& range, bool newer_cells_count) {
  if (!bounds.known) return false;
  const bool open_end = range.end_us == kMaxTimestampUs || newer_cells_count;
  const bool cells_outside = !bounds.has_cells() || bounds.max_timestamp_us < range.start_us ||
                             (!open_end && bounds.min_timestamp_us >= range.end_us);
  const bool deletes_outside =
      !bounds.has_deletes() ||
      (bounds.delete_end_us != kMaxTimestampUs && bounds.delete_end_us <= range.start_us) ||
      (!open_end && bounds.delete_start_us >= range.end_us);
  return cells_outside && deletes_outside;
}

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
}

const std::vector<StampedRange>& RunSource::range_deletes() const { return *ranges_; }

std::unique_ptr<EntryIterator> RunSource::open(const ReadScope& scope) {
  const std::string first = row_prefix(scope.first_row);
  const std::string end = scope.end_row.empty() ? std::string() : row_prefix(scope.end_row);
  const uint64_t hash = scope.single_row ? row_hash(first) : 0;
  std::vector<const TableSlice*> wanted;
  for (const TableSlice* slice : tables_) {
    if (!slice->may_have_entries()) continue;
    if (prune_) {
      if (slice->ends_before(first) || (!end.empty() && !slice->begins_before(end))) continue;
      if (scope.single_row && !slice->table().may_contain_row(hash)) continue;
      if (outside_range(slice->table().meta().bounds, scope.time_range, scope.newer_cells_count)) {
        continue;
      }
    }
    wanted.push_back(slice);
  }
  if (wanted.empty()) return nullptr;
  if (wanted.size() > 1) return std::make_unique<RunIterator>(std::move(wanted));
  const TableSlice& only = *wanted.front();
  if (only.is_cut()) return std::make_unique<SliceIterator>(only);
  return std::make_unique<TableIterator>(only.table());
}

}  // namespace cellar::engine
