// ScanCursor: one read over one tablet, point or range, forwards or reversed.
//
//   while (true) {
//     ScanStep step = cursor.run(sink);              // one plain call
//     if (step == ScanStep::blocked) co_await cursor.load();
//     else if (step == ScanStep::yielded) co_await yield_now();
//     else break;                                    // done, failed or paused (run() continues)
//   }
//
// Commits. A row is read as of one stamp. The cursor takes the tablet's visible stamp when it
// places its iterators between two rows, never later: an iterator over a memtable does not see
// entries inserted before its position, so a later stamp could show half of a commit. Entries
// inserted after the placement have a greater stamp and are invisible for this row. Every write
// acknowledged before the cursor was opened is therefore included, and each row is complete.
// At a run() that begins between two rows the cursor places itself again if the visible stamp has
// advanced; inside a row, and after load(), it continues at its position. Unwanted
// entries are stepped over at first, because most such stretches are short, and then sought past. A
// seek costs about eight steps in each source, so with many sources it steps longer.
//
// A pause requested at a cell takes effect before the next cell of that row; if there is none, the
// row is ended first. A pause is therefore inside a row only if the row continues.
//
// The cursor reads the sources pinned at opening: commits in a memtable started later are not seen,
// which is the same as reading at an older stamp.
//
// Forwards, the cursor seeks to a range's start and continues; it seeks again only if the next
// range is ahead of its position (scan_ranges.h). When it has to wait for a block, the first blocks
// of kRowsTogether ranges are loaded together: N distant rows cost about N / kRowsTogether round
// trips to the device. Reversed, it finds the last row before a bound with seek_before, seeks to
// the row's first entry, reads the row forwards, and repeats with that row as the bound.
//
// What is dead together is not walked, unless a watch wants to see it:
//
//   Rows of a range delete. A source whose entries were all committed before the newest range
//   delete of the row at hand has only dead cells, and deletes of dead cells, up to the end of the
//   stretch of rows with the same range deletes (range_deletes.h). It is moved there in one seek;
//   reversed, to its last entry before that stretch. Sources with newer entries are walked as
//   always. The newest range delete is the one at the
//   reader's stamp, and no change of a rule can be undone past a delete. Ages. Blocks and tables
//   with timestamps so old that the rules of all families kill them stay closed like those outside
//   the wanted times (WantedTimes says why that is exact). Only if no source has a cell with its
//   own expiry: the rules do not apply to such a cell, and one that was overwritten by a cell in a
//   closed block would be seen again.
//
// With a filter (engine/filter) the cursor asks it about rows and columns, seeks past what cannot
// match, and passes it the live cells. The filter's output may take longer than a slice, or the
// sink may pause it: then `filtering_` is set, and the next run() continues it first; at the end of
// a row `closing_` is set too.
//
// A read that explains counts runs. If it would stop without notes (newest_read.h), it is tried so
// first, and only the runs that this opens are kept of it: with notes every run is read.
//
// With a watch (cell_watch.h) the watch selects the cells, which carry a note. A read without a
// watch and without ReadSpec::with_expiry runs a separate instantiation of the code at no extra
// cost.
//
// A cursor is one allocation that includes its bounds, keys and iterators, unless keys are long,
// ranges many, or sources more than a few.
//
// One shard. Not movable; must outlive a pending load().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/filter/row_filter.h"
#include "engine/iter/iterator_arena.h"
#include "engine/iter/merging_iterator.h"
#include "engine/model/read_spec.h"
#include "engine/model/schema.h"
#include "engine/read/cell_judge.h"
#include "engine/read/cell_select.h"
#include "engine/read/cell_watch.h"
#include "engine/read/newest_read.h"
#include "engine/read/range_deletes.h"
#include "engine/read/row_columns.h"
#include "engine/read/row_start.h"
#include "engine/read/scan_ranges.h"
#include "engine/read/source.h"
#include "engine/read/stop_record.h"
#include "engine/sstable/key_buffer.h"
#include "io/base/clock.h"
#include "io/base/trusted_clock.h"
#include "io/loop/async.h"

namespace cellar::engine {

enum class ScanStep : uint8_t {
  done,     // the result is complete
  paused,   // the sink asked for it
  blocked,  // blocks are missing: call load(), then run()
  yielded,  // the slice is used up: yield, then call run()
  failed,   // see error(); the current row is not complete
};

// Cost limit of one slice, in entries examined; large values count as several. About 300 us.
inline constexpr uint32_t kEntriesPerSlice = 2048;
// Time limit, if a clock is given, because the machine may be slow or the entries expensive.
// Checked every kEntriesPerLook entries, so a short read never checks.
inline constexpr int64_t kSliceUs = 300;
inline constexpr int64_t kEntriesPerLook = 64;

// Of a read that explains: the runs of the tablet on disk, and those that the same read without
// notes opens unless it finds its row in the row cache.
struct RunCount {
  uint32_t all = 0;
  uint32_t opened = 0;
};

struct ScanSetup {
  const TableSchema* schema = nullptr;        // kept alive by `pin`
  const TableRetention* retention = nullptr;  // kept alive by `pin`; null: made from `schema`
  TrustedClock* now = nullptr;                // outlives the cursor; null: time does not advance
  const VisibleStamp* visible = nullptr;      // outlives the cursor
  const ReadSources* sources = nullptr;       // kept alive by `pin`, or outlives the cursor
  std::unique_ptr<ReadPin> pin;               // may be null
  std::unique_ptr<CellWatch> watch;           // null: live cells are returned
  const ReadSpec* spec = nullptr;             // used by the constructor only
  Bytes start;  // first row of the tablet; used by the constructor only
  Bytes end;    // first row after the tablet; empty: unbounded; used by the constructor only
  size_t filtered_row_bytes = kMaxFilteredRowBytes;  // memory limit of filtering a row
  // The caller takes no cell of other columns, and these may be left out; null: it takes all. Used
  // unless the filter names its columns. Must outlive the cursor.
  const NamedColumns* columns = nullptr;
  // Returns the rest of the one wanted row; without a watch, and without a filter but one that
  // names columns (wanted_columns()).
  std::optional<RowStart> started = {};
  // Rows are judged at this time, not before the stamp; absent: at that of `now`.
  std::optional<int64_t> at_us = {};
  StopRecord* stops = nullptr;  // of the tablet, kept alive by `pin`; null: none
  // Everything dead is walked, as with a watch: the same results, more slowly; tests compare both.
  bool walk_dead = false;
};

class ScanCursor {
 public:
  explicit ScanCursor(ScanSetup setup);
  ~ScanCursor();
  ScanCursor(const ScanCursor&) = delete;
  ScanCursor& operator=(const ScanCursor&) = delete;

  // Also limits slices by this clock, which must outlive the cursor.
  void watch(const Clock& clock) { clock_ = &clock; }
  ScanStep run(CellSink& sink, uint32_t entries = kEntriesPerSlice);
  // REQUIRES: run() returned blocked.
  Async<void> load();
  // The requests of load(), for another driver. REQUIRES: as load().
  void collect(std::vector<BlockRequest*>& requests);
  const Error& error() const { return *error_; }  // REQUIRES: failed

  // Releases the pinned version: between rows the cursor continues on the newest one, inside a row
  // it fails with `why`. No effect while a load is pending. REQUIRES: not inside run().
  void unpin(const Error& why);

  // It stands between two rows, and its schema is not in force any more: the next row must be read
  // by another cursor, over the rows after last_row(). A run() that begins inside a row
  // therefore yields at the end of the row. One that begins between two rows keeps the old schema.
  bool must_reopen() const { return stands_between() && is_outdated(); }

  // A run() yields at the end of the row at hand, or between two rows, even without results.
  void end_with_row() { ends_asked_ = true; }

  // No row is open: a cursor over the rows after last_row() returns what this one would still
  // return.
  bool between_rows() const {
    return !row_open_ && !closing_ && !begun_ && place_ != Place::moving;
  }
  // The last row read to its end, whether or not it had a result; empty: none yet. REQUIRES:
  // between_rows().
  Bytes last_row() const { return newest_found_ ? Bytes(newest_row_) : judge_.row(); }

  uint64_t rows() const { return rows_; }  // rows with a result so far
  uint64_t entries_read() const { return entries_read_; }
  const RunCount& runs() const { return runs_; }  // after the first row; zeros: not counted

 private:
  enum class Place : uint8_t {
    fresh,    // not yet placed
    in_row,   // merge_ is at an entry already examined
    ahead,    // merge_ is at an entry of the open row not yet examined
    between,  // the last row is closed; stood_ is the state of merge_ (forwards)
    moving,   // merge_'s last move was blocked
    finished,
  };
  // The purpose of the last move.
  enum class Aim : uint8_t {
    entry,       // the next entry, in this row or a later one
    row_start,   // reversed: the first entry of a known row
    row_before,  // reversed: the last entry of the row before a bound
  };
  const TableRetention& retention() const {
    return own_retention_ ? *own_retention_ : *setup_.retention;
  }
  // The newest versions of named or few columns, as long as newest_read_ suits.
  ScanStep run_newest(CellSink& sink);
  ScanStep run_merged(CellSink& sink);
  std::optional<ScanStep> find_newest();
  ScanStep give_newest(CellSink& sink);
  void open_sources();
  void count_runs();
  int64_t dead_before_us() const;
  void close_sources();
  void renew_sources();
  void renew_range_deletes();
  CommitStamp visible() const {
    return setup_.started ? setup_.started->stamp : setup_.visible->visible_stamp();
  }
  bool stands_between() const { return place_ == Place::between && between_rows(); }
  bool is_outdated() const { return setup_.pin && setup_.pin->must_reopen(); }
  Step go_on();
  Step place_fresh();
  Step place_again();
  Step yield_between(Step step);
  bool is_past_window(Step step) const;
  Step next_range(Step step);
  Step seek(Aim aim, Bytes key);
  // Moves to an entry ahead; only sources that are not that far seek.
  Step skip_to(Bytes key);
  // Number of cells stepped over before seeking.
  uint32_t steps_before_seek() const;
  // `kNotes`: with a watch or with_expiry.
  template <bool kNotes>
  ScanStep run_as(CellSink& sink);
  template <bool kNotes>
  Step take(Step step, CellSink& sink);
  Step take_row_before(Step step);
  template <bool kNotes>
  Step take_entry(CellSink& sink, bool same_column);
  template <bool kNotes>
  Step take_cell(CellSink& sink, bool given);
  void begin_column();
  template <bool kNotes>
  bool give(CellSink& sink);
  Step step_over(CellSelect::Verdict verdict);
  Step enter_row();
  bool is_older(size_t source, CommitStamp dropped) const;
  std::optional<Step> pass_dropped_rows();
  std::optional<Step> pass_dropped_rows_before();
  Step after_row();
  bool close_row(CellSink& sink);
  bool end_row(CellSink& sink);
  Step pass_over();
  bool filter_go_on(CellSink& sink);
  bool take_filter_step(FilterStep step, CellSink& sink);
  Step finish();
  Step fail_with(Error error);
  void renew_stamp();
  void renew_now();
  // Ends run() after the current entry.
  void leave(ScanStep how) {
    leave_ = how;
    stopped_ = true;
  }
  // The slice is used up.
  bool slice_over() { return slice_left_ <= look_at_ && look_at_slice(); }
  bool look_at_slice();

  ScanSetup setup_;
  const bool reversed_;
  const bool with_expiry_;
  const uint64_t row_limit_;
  ScanRanges ranges_;
  IteratorArena iterators_;
  MergingIterator merge_;
  std::vector<const ReadSource*> opened_;  // those of merge_, in its order
  const bool passes_dead_;
  std::optional<TableRetention> own_retention_;
  RangeDeletes range_deletes_;
  size_t range_delete_count_ = SIZE_MAX;
  CellJudge judge_;
  CellSelect select_;
  const int64_t wanted_from_us_;  // start of the wanted times
  const bool all_cells_;          // select_ takes all live cells
  const bool counts_runs_;        // the read explains
  RunCount runs_;
  std::optional<RowFilter> filter_;
  WantedColumns wanted_columns_;             // of newest_read_
  RowColumns row_columns_;                   // of newest_read_, if the read wants every column
  std::unique_ptr<NewestRead> newest_read_;  // until it proves unfit; then as if it had never been
  std::string newest_row_;
  bool newest_tried_ = false;  // newest_read_ was run
  bool newest_found_ = false;
  CellNote note_;  // of the current cell

  Place place_ = Place::fresh;
  Aim aim_ = Aim::entry;
  Step stood_ = Step::end;
  bool renewed_ = false;        // the sources were replaced: stood_ is invalid
  bool ends_with_row_ = false;  // run() began within a row, and is_outdated() or ends_asked_
  bool ends_asked_ = false;
  bool begun_ = false;     // ScanSetup::started, whose row was not entered yet
  bool row_open_ = false;  // a row was started and not closed
  bool row_gave_ = false;  // the open row has had a cell
  KeyBuffer row_prefix_;   // of the last row started or sought (reversed)
  KeyBuffer target_;       // of the last seek; a blocked one refers to it
  CommitStamp stamp_;
  int64_t now_us_ = 0;   // time at which rows are judged; never before stamp_
  uint64_t column_ = 0;  // the judge's column to which select_ applies
  uint32_t misses_ = 0;  // consecutive cells that select_ did not want
  ColumnVerdict wanted_ = ColumnVerdict::take;  // verdict of filter_ about column_
  uint32_t passed_over_ = 0;                    // consecutive cells that the filter does not want
  bool filtering_ = false;
  bool closing_ = false;
  uint64_t given_before_ = 0;  // remaining cells that were already returned elsewhere
  uint64_t rows_ = 0;
  uint64_t entries_read_ = 0;
  int64_t slice_left_ = 0;
  int64_t look_at_ = 0;         // value of slice_left_ at which the clock is checked next
  int64_t slice_began_us_ = 0;  // at the first check; 0: no check in this slice
  const Clock* clock_ = nullptr;
  bool pause_asked_ = false;  // by the sink, at a cell of the open row
  bool stopped_ = false;      // run() must end: see leave_, error_ or place_
  std::optional<ScanStep> leave_;
  std::optional<Error> error_;
};

// The result of a read's first call (Engine::start_read).
struct ReadStart {
  ScanStep step = ScanStep::done;
  std::unique_ptr<ScanCursor> cursor;  // null: the result is complete
  RunCount runs = {};                  // of a complete result
};

}  // namespace cellar::engine
