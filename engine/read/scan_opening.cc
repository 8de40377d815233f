// ScanCursor: opening, choice of commit and time, and loading.
#include <algorithm>
#include <utility>

#include "engine/read/block_load.h"
#include "engine/read/scan.h"

namespace cellar::engine {

ScanCursor::ScanCursor(ScanSetup setup)
    : setup_(std::move(setup)),
      reversed_(setup_.spec->reversed),
      with_expiry_(setup_.spec->with_expiry),
      row_limit_(setup_.spec->row_limit),
      ranges_(*setup_.spec, setup_.start, setup_.end),
      own_retention_(setup_.retention == nullptr ? std::optional(TableRetention(*setup_.schema))
                                                 : std::nullopt),
      judge_(*setup_.schema, retention(), range_deletes_),
      select_(setup_.spec->time_range, setup_.spec->versions),
      all_cells_(select_.takes_all()) {
  if (ranges_.empty()) {
    place_ = Place::finished;
    return;
  }
  const ReadSpec& spec = *std::exchange(setup_.spec, nullptr);
  if (setup_.watch) setup_.watch->attach(range_deletes_);
  if (spec.filter) filter_.emplace(spec.filter, setup_.filtered_row_bytes);
  if (setup_.started) given_before_ = setup_.started->cells;
  ranges_.scope().newer_cells_count = retention().any_counts();
  const bool names = filter_ && filter_->compiled().columns();
  // A watch may need the row's other cells.
  if (!setup_.watch) {
    ranges_.want_only(names ? &*filter_->compiled().columns() : setup_.columns);
  }
  open_sources();
}

ScanCursor::~ScanCursor() = default;

void ScanCursor::open_sources() {
  for (const auto& source : *setup_.sources)
    if (EntryIterator* it = source->open(ranges_.scope(), iterators_)) merge_.add_borrowed(*it);
}

void ScanCursor::close_sources() {
  merge_.clear();
  iterators_.clear();
  ranges_.forget_ahead();
  setup_.sources = nullptr;
}

// REQUIRES: the next move is a seek that starts no later than after the last row.
void ScanCursor::renew_sources() {
  close_sources();
  setup_.sources = &setup_.pin->renew();
  open_sources();
  range_deletes_.clear();
  range_deletes_.build();
  range_delete_count_ = SIZE_MAX;
  renewed_ = true;
}

void ScanCursor::let_go(const Error& why) {
  if (error_ || place_ == Place::moving) return;
  const bool stands = place_ == Place::between || place_ == Place::fresh;
  if (stands && between_rows() && !filtering_ && setup_.pin->is_stale()) return renew_sources();
  close_sources();
  setup_.pin->drop();
  if (place_ != Place::finished || filtering_) error_ = why;
}

// Takes the visible stamp. REQUIRES: a seek follows before any entry is examined.
void ScanCursor::renew_stamp() {
  stamp_ = visible();
  renew_now();
  size_t count = 0;
  for (const auto& source : *setup_.sources) count += source->range_deletes().size();
  if (count == range_delete_count_) return;
  range_delete_count_ = count;
  if (count != 0) renew_range_deletes();
}

void ScanCursor::renew_range_deletes() {
  range_deletes_.clear();
  std::string scratch[2];
  const Bytes first = ranges_.bounds().first_row(scratch[0]);
  const std::optional<Bytes> end = ranges_.bounds().end_row(scratch[1]);
  for (const auto& source : *setup_.sources)
    for (const StampedRange& range : source->range_deletes()) {
      const bool ends_before = !range.end.empty() && Bytes(range.end) <= first;
      if (!ends_before && (!end || Bytes(range.start) < *end)) range_deletes_.add(range);
    }
  range_deletes_.build(stamp_);
}

// Reads the trusted clock. REQUIRES: no row is open.
void ScanCursor::renew_now() {
  if (setup_.started) {
    now_us_ = setup_.started->now_us;
    return;
  }
  const int64_t clock_us = setup_.now != nullptr ? setup_.now->ask_us() : 0;
  now_us_ = std::max(
      {clock_us, static_cast<int64_t>(stamp_.value() / 1000), retention().not_before_us()});
  if (setup_.watch) now_us_ = std::max(now_us_, setup_.watch->not_before_us());
}

Async<void> ScanCursor::load() {
  std::vector<BlockWant*> wants;
  collect(wants);
  return load_wants(std::move(wants));
}

void ScanCursor::collect(std::vector<BlockWant*>& wants) {
  merge_.collect(wants);
  ranges_.collect_ahead(*setup_.sources, row_limit_ == 0 ? 0 : row_limit_ - rows_, wants);
}

}  // namespace cellar::engine
