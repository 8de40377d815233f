// ScanCursor: one read over one tablet, point or range, forwards or reversed.
//
//   while (true) {
//     ScanStep step = cursor.run(sink);              // one plain call
//     if (step == ScanStep::blocked) co_await cursor.load();
//     else if (step == ScanStep::yielded) co_await yield_now();
//     else break;                                    // done, failed; or paused: run() goes on
//     later
//   }
//
// As of which commit. A row is read as of one stamp. The cursor takes the tablet's visible stamp
// when it places its iterators between two rows, never later: an iterator over a memtable does not
// see what is inserted behind its place, so a stamp taken after the placing could show half of a
// commit. Whatever is inserted after the placing has a greater stamp and is not there for this row.
// So every write acknowledged before the cursor was opened is included, and each row is whole.
// Between two calls of run(), between two rows, the cursor places itself anew when the visible
// stamp has risen; in a row, and after load(), it goes on where it stood.
// Over what is not wanted it steps for a while, since most such stretches are short, and then
// seeks. A seek costs about what eight steps do in each source, so with many sources it steps
// longer.
//
// A sink that asks for a pause at a cell is obeyed before the next cell of that row; when there is
// none, the row is ended first. So a pause falls inside a row only where the row goes on.
//
// What is pinned at opening is what is read: commits that come into a memtable begun later are not
// seen, which is the same as reading at an older stamp.
//
// Forwards, the cursor seeks to a range's start and goes on; it seeks again only when the next
// range lies ahead of where it stands (scan_ranges.h). When it has to wait for a block, the first
// blocks of kRowsTogether ranges are loaded together: N rows that lie apart cost about
// N / kRowsTogether round trips to the device. Reversed, it finds the last row before a bound with
// seek_before, seeks to the row's first entry, reads the row forwards, and repeats with that row as
// the bound.
//
// With a filter (engine/filter) the cursor asks it about rows and columns and seeks over what
// cannot pass, and hands it the living cells. What the filter has to give may take longer than a
// slice, or the sink may pause it: then `filtering_` is set, and the next run() first lets it go
// on; at a row's end `closing_` too.
//
// With a watch (cell_watch.h) the watch says which cells are given, and they carry a note. A read
// without one, and without ReadSpec::with_expiry, runs through code of its own, made of the same
// lines, and pays nothing for it.
//
// A cursor is one allocation, its bounds, keys and iterators inside, unless keys are long, ranges
// many, or more than a few sources concerned.
//
// Belongs to one shard. Not movable while load() is pending; outlives it.
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
#include "engine/read/cell_select.h"
#include "engine/read/cell_watch.h"
#include "engine/read/fate.h"
#include "engine/read/range_deletes.h"
#include "engine/read/row_start.h"
#include "engine/read/scan_ranges.h"
#include "engine/read/source.h"
#include "engine/sstable/key_buffer.h"
#include "io/base/clock.h"
#include "io/base/trusted_clock.h"
#include "io/loop/async.h"

namespace cellar::engine {

enum class ScanStep : uint8_t {
  done,     // the answer is complete
  paused,   // the sink asked for it
  blocked,  // blocks are missing: load(), then run()
  yielded,  // used its slice: let others run, then run()
  failed,   // error() says why; the row in progress is not complete
};

// What one slice may cost, in entries looked at; large values count as several. About 300 us.
inline constexpr uint32_t kEntriesPerSlice = 2048;
// And in time, where a clock is given: the machine may be slow, or the entries dear. Looked at
// every kEntriesPerLook entries, so that a short read never looks.
inline constexpr int64_t kSliceUs = 300;
inline constexpr int64_t kEntriesPerLook = 64;

struct ScanSetup {
  const TableSchema* schema = nullptr;               // kept alive by `pin`
  const TableRetention* retention = nullptr;         // likewise; null: made from `schema`
  TrustedClock* now = nullptr;                       // outlives the cursor; null: no time passes
  const VisibleStamp* visible = nullptr;             // outlives the cursor
  const ReadSources* sources = nullptr;              // likewise
  std::unique_ptr<ReadPin> pin;                      // may be null
  std::unique_ptr<CellWatch> watch;                  // null: what lives is given
  const ReadSpec* spec = nullptr;                    // looked at by the constructor only
  Bytes start;                                       // of the tablet's rows; likewise
  Bytes end;                                         // likewise; empty: unbounded
  size_t filtered_row_bytes = kMaxFilteredRowBytes;  // what filtering a row may hold
  // Cells of other columns change nothing, besides what the filter names; outlives the cursor.
  const NamedColumns* columns = nullptr;
  // The rest of the one row that is wanted; without a filter or a watch.
  std::optional<RowStart> started = {};
};

class ScanCursor {
 public:
  explicit ScanCursor(ScanSetup setup);
  ~ScanCursor();
  ScanCursor(const ScanCursor&) = delete;
  ScanCursor& operator=(const ScanCursor&) = delete;

  // Slices end by this clock too. It outlives the cursor.
  void watch(const Clock& clock) { clock_ = &clock; }
  ScanStep run(CellSink& sink, uint32_t entries = kEntriesPerSlice);
  // REQUIRES: run() answered blocked.
  Async<void> load();
  // What load() would load, for a driver of its own. REQUIRES: as load().
  void collect(std::vector<BlockWant*>& wants);
  const Error& error() const { return *error_; }  // REQUIRES: failed

  // Releases the pinned version: between rows the cursor continues on the newest one, inside a row
  // it fails with `why`. Does nothing while a load is pending. REQUIRES: not inside run().
  void let_go(const Error& why);

  // No row is open: a cursor over the rows behind last_row() gives what this one would still give.
  bool between_rows() const { return !row_open_ && !closing_ && place_ != Place::moving; }
  // The last row that was looked at to its end, whether or not it gave a cell; empty: none yet.
  // REQUIRES: between_rows().
  Bytes last_row() const { return judge_.row(); }

  uint64_t rows() const { return rows_; }  // rows that gave a cell, so far
  uint64_t entries_read() const { return entries_read_; }

 private:
  enum class Place : uint8_t {
    fresh,    // nothing is placed
    in_row,   // merge_ stands on an entry that was looked at
    ahead,    // merge_ stands on an entry of the open row that was not looked at yet
    between,  // the last row is closed; stood_ tells where merge_ stands (forwards)
    moving,   // merge_'s last move was blocked
    finished,
  };
  // What the last move was for.
  enum class Aim : uint8_t {
    entry,       // the next entry, in this row or a later one
    row_start,   // reversed: the first entry of a row that is known
    row_before,  // reversed: the last entry of the row before a bound
  };
  const TableRetention& retention() const {
    return own_retention_ ? *own_retention_ : *setup_.retention;
  }
  void open_sources();
  void close_sources();
  void renew_sources();
  void renew_range_deletes();
  CommitStamp visible() const {
    return setup_.started ? setup_.started->stamp : setup_.visible->visible_stamp();
  }
  Step go_on();
  Step place_fresh();
  Step place_again();
  Step yield_between(Step step);
  bool is_past_window(Step step) const;
  Step next_range(Step step);
  Step seek(Aim aim, Bytes key);
  // Goes on at an entry ahead: seeks, but only where merge_'s sources are not that far.
  Step skip_to(Bytes key);
  // So many cells are stepped over before seeking.
  uint32_t steps_before_seek() const;
  // `kNotes`: with a watch, or expiries to tell.
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
  Step after_row();
  bool close_row(CellSink& sink);
  bool end_row(CellSink& sink);
  Step pass_over();
  bool filter_go_on(CellSink& sink);
  bool settle_filter(FilterStep step, CellSink& sink);
  Step finish();
  Step fail_with(Error error);
  void renew_stamp();
  void renew_now();
  // Ends run() after the entry at hand.
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
  std::optional<TableRetention> own_retention_;
  RangeDeletes range_deletes_;
  size_t range_delete_count_ = SIZE_MAX;
  FateJudge judge_;
  CellSelect select_;
  const bool all_cells_;  // select_ takes whatever lives
  std::optional<RowFilter> filter_;
  CellNote note_;  // of the cell at hand

  Place place_ = Place::fresh;
  Aim aim_ = Aim::entry;
  Step stood_ = Step::end;
  bool renewed_ = false;   // the sources are others: nothing is known of stood_
  bool row_open_ = false;  // a row is begun and not closed
  bool row_gave_ = false;  // it gave a cell
  KeyBuffer row_prefix_;   // of the row begun last, or sought (reversed)
  KeyBuffer target_;       // of the last seek; a blocked one refers to it
  CommitStamp stamp_;
  int64_t now_us_ = 0;                          // as of which rows are judged; never before stamp_
  uint64_t column_ = 0;                         // the judge's column that select_ is about
  uint32_t misses_ = 0;                         // cells in sequence that select_ did not want
  ColumnVerdict wanted_ = ColumnVerdict::take;  // what filter_ says about column_
  uint32_t passed_over_ = 0;                    // cells in sequence that it does not want
  bool filtering_ = false;
  bool closing_ = false;
  uint64_t given_before_ = 0;  // cells still to come that were given already
  uint64_t rows_ = 0;
  uint64_t entries_read_ = 0;
  int64_t slice_left_ = 0;
  int64_t look_at_ = 0;         // of slice_left_: when the clock is looked at next
  int64_t slice_began_us_ = 0;  // at the first look; 0: there was none in this slice
  const Clock* clock_ = nullptr;
  bool pause_asked_ = false;  // by the sink, at a cell of the open row
  bool stopped_ = false;      // run() must end: leave_, error_ or place_ says how
  std::optional<ScanStep> leave_;
  std::optional<Error> error_;
};

// What became of a read's first call (Engine::start_read).
struct ReadStart {
  ScanStep step = ScanStep::done;
  std::unique_ptr<ScanCursor> cursor;  // null: the answer is complete
};

}  // namespace cellar::engine
