#include "engine/read/scan_ranges.h"

namespace cellar::engine {

ScanRanges::ScanRanges(const ReadSpec& spec, Bytes start, Bytes end)
    : reversed_(spec.reversed), bounds_(spec.rows, start, end) {
  if (bounds_.empty()) return;
  scope_.lower = bounds_.lower();
  scope_.upper = bounds_.upper();
  if (bounds_.single_row()) {
    aim(probe_, bounds_.lower());
    scope_.probe = &probe_;
  }
  scope_.time_range = spec.time_range;
  scope_.window = &window_;
  if (bounds_.size() > 1) prefetch_ = std::make_unique<BlockPrefetch>();
  scope_.prefetch = prefetch_.get();
}

void ScanRanges::enter() {
  const ScanBounds::Range range = current();
  // For a single row the sources have already checked their filters.
  const bool ask = range.single_row && bounds_.size() > 1;
  if (ask) aim(probe_, range.lower);
  window_.set(range.upper, ask ? &probe_ : nullptr);
}

void ScanRanges::want_only(const NamedColumns* columns) {
  columns_ = columns;
  if (bounds_.single_row()) aim(probe_, bounds_.lower());
}

void ScanRanges::aim(RowProbe& probe, Bytes row_prefix) const {
  probe.aim(row_prefix);
  if (columns_ == nullptr) return;
  for (const ColumnName& column : *columns_) probe.add_column(column.family, column.qualifier);
}

bool ScanRanges::advance() {
  if (is_last()) return false;
  ++place_;
  enter();
  return true;
}

bool ScanRanges::find_ahead(Bytes key) {
  while (key >= current().upper) {
    if (is_last()) return false;
    ++place_;
  }
  enter();
  return true;
}

bool ScanRanges::find_behind(Bytes key) {
  while (key < current().lower) {
    if (is_last()) return false;
    ++place_;
  }
  enter();
  return true;
}

void ScanRanges::collect_ahead(const ReadSources& sources, uint64_t rows_wanted,
                               std::vector<BlockRequest*>& requests) {
  if (!prefetch_) return;
  prefetch_->drop_before(place_);
  uint64_t together = kRowsTogether;
  if (rows_wanted != 0) together = std::min(together, rows_wanted);
  const size_t end = std::min<size_t>(bounds_.size(), place_ + together);
  ReadScope scope = scope_;
  size_t at = std::max(prefetched_to_, place_ + 1);
  prefetched_to_ = SIZE_MAX;
  for (; at < end; ++at) {
    const ScanBounds::Range range = in_order(at);
    scope.lower = range.lower;
    scope.upper = range.upper;
    RowProbe probe;
    if (range.single_row) aim(probe, range.lower);
    scope.probe = range.single_row ? &probe : nullptr;
    bool known = true;
    for (const auto& source : sources) known &= source->prefetch(scope, at);
    // The added part tells more once it is loaded.
    if (!known) prefetched_to_ = std::min(prefetched_to_, at);
    if (prefetch_->full()) break;
  }
  prefetched_to_ = std::min(prefetched_to_, at);
  prefetch_->collect(requests);
}

void ScanRanges::forget_ahead() {
  if (prefetch_) prefetch_->drop_before(SIZE_MAX);
  prefetched_to_ = 0;
}

}  // namespace cellar::engine
