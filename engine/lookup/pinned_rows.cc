#include "engine/lookup/pinned_rows.h"

#include <algorithm>
#include <utility>

#include "engine/read/block_load.h"
#include "engine/read/explainer.h"

namespace cellar::engine {
namespace {

// Collects the cells of one row.
class Collector final : public CellSink {
 public:
  Collector(const NamedColumns* columns, std::vector<HitCell>& to) : columns_(columns), to_(to) {}

  Flow cell(const CellView& cell) override {
    if (columns_ != nullptr && !is_wanted(cell)) return Flow::more;
    bytes_ += sizeof(HitCell) + cell.qualifier.size() + cell.value.size();
    if (is_full()) return Flow::pause;
    to_.push_back({std::string(cell.family), std::string(cell.qualifier), cell.timestamp_us,
                   std::string(cell.value), std::string(cell.label),
                   cell.note != nullptr ? *cell.note : CellNote()});
    return Flow::more;
  }
  Flow end_row(Bytes /*row*/) override { return Flow::more; }
  bool is_full() const { return bytes_ > PinnedRows::kMaxRowBytes; }

 private:
  bool is_wanted(const CellView& cell) const {
    return std::ranges::any_of(*columns_, [&cell](const ColumnName& column) {
      return column.family == cell.family && column.qualifier == cell.qualifier;
    });
  }

  const NamedColumns* columns_;
  std::vector<HitCell>& to_;
  size_t bytes_ = 0;
};

}  // namespace

PinnedRows::PinnedRows(const SchemaSnapshot& schema, const std::string& start,
                       const std::string& end)
    : schema_(schema), start_(start), end_(end), newest_(schema.value, schema.retention) {}

void PinnedRows::reset(const Version* version, Instant instant) {
  newest_.clear();
  all_sources_.clear();
  version_ = version;
  as_of_.stamp = instant.stamp;
  now_us_ = instant.now_us;
}

Async<Result<void>> PinnedRows::read_columns(Bytes row, const NamedColumns& columns,
                                             uint32_t versions, std::vector<HitCell>& cells,
                                             const TimeRange& times) {
  const bool done = co_await read_newest(row, columns, versions, cells);
  if (done) co_return Result<void>{};
  ReadSpec spec;
  spec.versions = versions;
  if (versions == 0) spec.time_range = times;
  co_return co_await read_row(row, spec, cells, &columns);
}

NewestRead::Outcome PinnedRows::run_newest(Bytes row, const NamedColumns& columns,
                                           uint32_t versions) {
  if (is_row_covered(version_->sources, row, as_of_.stamp)) return NewestRead::Outcome::unfit;
  return newest_.run({.columns = columns,
                      .versions = versions,
                      .sources = version_->sources,
                      .row = row,
                      .stamp = as_of_.stamp,
                      .now_us = now_us_});
}

void PinnedRows::take_newest(std::vector<HitCell>& cells) {
  for (size_t i = 0; i < newest_.cells(); ++i) {
    const CellView cell = newest_.cell(i);
    cells.push_back({std::string(cell.family),
                     std::string(cell.qualifier),
                     cell.timestamp_us,
                     std::string(cell.value),
                     {},
                     {}});
  }
}

bool PinnedRows::read_at_once(Bytes row, const NamedColumns& columns, uint32_t versions,
                              std::vector<HitCell>& cells) {
  const bool done = run_newest(row, columns, versions) == NewestRead::Outcome::done;
  if (done) take_newest(cells);
  newest_.clear();
  return done;
}

Async<bool> PinnedRows::read_newest(Bytes row, const NamedColumns& columns, uint32_t versions,
                                    std::vector<HitCell>& cells) {
  NewestRead::Outcome outcome = run_newest(row, columns, versions);
  while (outcome == NewestRead::Outcome::blocked) {
    std::vector<BlockRequest*> requests;
    newest_.collect(requests);
    co_await load_blocks(std::move(requests));
    outcome = newest_.resume();
  }
  const bool done = outcome == NewestRead::Outcome::done;
  if (done) take_newest(cells);
  newest_.clear();
  co_return done;
}

Async<Result<void>> PinnedRows::read_row(Bytes row, const ReadSpec& spec,
                                         std::vector<HitCell>& cells, const NamedColumns* columns) {
  Collector collector(columns, cells);
  CO_TRY_VOID(co_await visit_row(row, spec, columns, collector));
  if (!collector.is_full()) co_return Result<void>{};
  co_return fail(Errc::failed_precondition, "row '{}' is larger than {} bytes as returned",
                 escape_bytes(row), kMaxRowBytes);
}

Async<Result<void>> PinnedRows::visit_row(Bytes row, ReadSpec spec, const NamedColumns* columns,
                                          CellSink& sink) {
  spec.rows.set_single(row);
  spec.reversed = false;
  spec.row_limit = 0;
  ScanSetup setup;
  setup.schema = &schema_.value;
  setup.retention = &schema_.retention;
  setup.visible = &as_of_;
  setup.at_us = now_us_;
  setup.sources = &version_->sources;
  setup.spec = &spec;
  setup.start = start_;
  setup.end = end_;
  setup.columns = columns;
  if (spec.explain || spec.include_dead) {
    setup.watch = std::make_unique<Explainer>(schema_.value, spec.include_dead, now_us_);
    if (all_sources_.empty()) all_sources_ = read_sources(*version_, {});
    setup.sources = &all_sources_;
  }
  ScanCursor cursor(std::move(setup));
  while (true) {
    const ScanStep step = cursor.run(sink);
    if (step == ScanStep::done || step == ScanStep::paused) co_return Result<void>{};
    if (step == ScanStep::failed) co_return std::unexpected(cursor.error());
    if (step == ScanStep::blocked) {
      co_await cursor.load();
    } else {
      co_await yield_now();
    }
  }
}

}  // namespace cellar::engine
