// Tablet's reads: what a cursor over it is opened with, and the rows that need none.
#include <utility>

#include "engine/read/explainer.h"
#include "engine/read/scan.h"
#include "engine/tablet/row_reads.h"
#include "engine/tablet/tablet.h"
#include "engine/version/cursor_pin.h"

namespace cellar::engine {

Result<std::unique_ptr<ScanCursor>> Tablet::open_scan(const ReadSpec& spec,
                                                      const VisibleStamp* as_of,
                                                      std::unique_ptr<CellWatch> watch,
                                                      const NamedColumns* columns) {
  note_read(spec);
  if (lost_deletes_ != nullptr) return std::unexpected(*lost_deletes_);
  return make_cursor(spec, as_of, std::move(watch), {}, columns);
}

Result<ReadStart> Tablet::start_read(const ReadSpec& spec, CellSink& sink, RowReads& rows,
                                     const Clock* clock) {
  note_read(spec);
  if (lost_deletes_ != nullptr) return std::unexpected(*lost_deletes_);
  const Ref<const Version> pin = version_;  // whatever the sink does
  std::optional<RowStart> started;
  auto outcome = RowReader::Outcome::handed_over;
  if (RowReader::may_read(spec) && in_range(spec.rows.ranges().front().start)) {
    outcome = rows.reader(schema_).read({.spec = spec,
                                         .sources = pin->sources,
                                         .stamp = facts_->visible,
                                         .now_us = shard_.runtime.clock.ask_us()},
                                        sink, started.emplace());
    if (outcome == RowReader::Outcome::done) return ReadStart{};
    // Nothing was given: the cursor may as well read what is newer.
    if (started->cells == 0) started.reset();
  }
  ReadStart start{ScanStep::paused, make_cursor(spec, nullptr, nullptr, started)};
  if (clock != nullptr) start.cursor->watch(*clock);
  if (outcome != RowReader::Outcome::paused) start.step = start.cursor->run(sink);
  if (start.step == ScanStep::done) start.cursor.reset();
  return start;
}

void Tablet::note_read(const ReadSpec& spec) {
  ++reads_;
  if (!spec.rows.ranges().empty()) samples_.note(spec.rows.ranges().front().start);
  if (next_unread_us_ != INT64_MAX && shard_.runtime.clock.now_us() >= next_unread_us_)
    publish(version_->runs);
}

std::unique_ptr<ScanCursor> Tablet::make_cursor(const ReadSpec& spec, const VisibleStamp* as_of,
                                                std::unique_ptr<CellWatch> watch,
                                                std::optional<RowStart> started,
                                                const NamedColumns* columns) {
  ScanSetup setup;
  setup.columns = columns;
  setup.spec = &spec;
  setup.start = state_.start;
  setup.end = state_.end;
  setup.schema = &schema();
  setup.retention = &schema_->retention;
  setup.now = &shard_.runtime.clock;
  setup.visible = as_of != nullptr ? as_of : facts_.get();
  setup.sources = &version_->sources;
  setup.watch = std::move(watch);
  setup.started = started;
  const bool of_client = as_of == nullptr && setup.watch == nullptr;
  if (setup.watch == nullptr && (spec.explain || spec.include_dead)) {
    setup.watch =
        std::make_unique<Explainer>(schema(), spec.include_dead, shard_.runtime.clock.now_us());
  }
  auto pin = std::make_unique<CursorPin>(version_, facts_, schema_);
  if (setup.watch != nullptr) setup.sources = &pin->all_sources();
  CursorPin& pinned = *pin;
  setup.pin = std::move(pin);
  auto cursor = std::make_unique<ScanCursor>(std::move(setup));
  if (of_client) shard_.cursors.add(pinned, *cursor);
  return cursor;
}

int64_t Tablet::reclaim_grace_us() const {
  const int64_t within_us = schema().options.reclaim_within_us;
  return within_us > INT64_MAX - margin_us() ? INT64_MAX : within_us + margin_us();
}

}  // namespace cellar::engine
