#include "engine/read/run_source.h"

#include "engine/read/run_iterator.h"

namespace cellar::engine {

bool outside_range(const TimeBounds& bounds, const TimeRange& range) {
  if (!bounds.known) return false;
  const bool open_end = range.end_us == kMaxTimestampUs;
  const bool cells_outside = !bounds.has_cells() || bounds.max_timestamp_us < range.start_us ||
                             (!open_end && bounds.min_timestamp_us >= range.end_us);
  const bool deletes_outside =
      !bounds.has_deletes() ||
      (bounds.delete_end_us != kMaxTimestampUs && bounds.delete_end_us <= range.start_us) ||
      (!open_end && bounds.delete_start_us >= range.end_us);
  return cells_outside && deletes_outside;
}

RunSource::RunSource(std::vector<TableReader*> tables, bool prune)
    : tables_(std::move(tables)), prune_(prune), ranges_(&joined_) {
  for (const TableReader* table : tables_) {
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
  std::vector<TableReader*> wanted;
  for (TableReader* table : tables_) {
    const TableMeta& meta = table->meta();
    if (meta.entries == 0) continue;
    if (prune_) {
      if (meta.largest_key < first || (!end.empty() && meta.smallest_key >= end)) continue;
      if (scope.single_row && !table->may_contain_row(hash)) continue;
      if (outside_range(meta.bounds, scope.time_range)) continue;
    }
    wanted.push_back(table);
  }
  if (wanted.empty()) return nullptr;
  if (wanted.size() == 1) return std::make_unique<TableIterator>(*wanted.front());
  return std::make_unique<RunIterator>(std::move(wanted));
}

}  // namespace cellar::engine
