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
//
// What is pinned at opening is what is read: commits that come into a memtable begun later are not
// seen, which is the same as reading at an older stamp.
//
// Forwards, the cursor seeks to a range's start and goes on; it seeks again only when the next
// range lies ahead of where it stands. Reversed, it finds the last row before a bound with
// seek_before, seeks to the row's first entry, reads the row forwards, and repeats with that row as
// the bound.
//
// Belongs to one shard. Not movable while load() is pending; outlives it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/iter/merging_iterator.h"
#include "engine/model/read_spec.h"
#include "engine/model/schema.h"
#include "engine/read/cell_select.h"
#include "engine/read/fate.h"
#include "engine/read/range_deletes.h"
#include "engine/read/source.h"
#include "io/runtime/async.h"

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

struct ScanSetup {
  const TableSchema* schema = nullptr;               // kept alive by `pin`
  const VisibleStamp* visible = nullptr;             // outlives the cursor
  std::vector<std::unique_ptr<ReadSource>> sources;  // newest first
  std::unique_ptr<ReadPin> pin;                      // may be null
  ReadSpec spec;                                     // rows clipped to the tablet
};

class ScanCursor {
 public:
  explicit ScanCursor(ScanSetup setup);
  ~ScanCursor();
  ScanCursor(const ScanCursor&) = delete;
  ScanCursor& operator=(const ScanCursor&) = delete;

  ScanStep run(CellSink& sink, uint32_t entries = kEntriesPerSlice);
  // REQUIRES: run() answered blocked.
  Async<void> load();
  // What load() would load, for a driver of its own. REQUIRES: as load().
  void collect(std::vector<BlockWant*>& wants) { merge_.collect(wants); }
  const Error& error() const { return *error_; }  // REQUIRES: failed

  uint64_t rows() const { return rows_; }  // rows that gave a cell, so far
  uint64_t entries_read() const { return entries_read_; }

 private:
  enum class Place : uint8_t {
    fresh,    // nothing is placed
    in_row,   // merge_ stands on an entry that was looked at
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
  // The encoded keys of a range are [lower, upper).
  struct Bound {
    std::string lower;
    std::string upper;
  };

  Step go_on();
  Step place_fresh();
  Step place_again();
  Step yield_between(Step step);
  Step seek(Aim aim, Bytes key);
  Step take(Step step, CellSink& sink);
  Step take_row_before(Step step);
  Step take_entry(CellSink& sink);
  Step take_cell(CellSink& sink, Fate fate);
  Step enter_row();
  Step after_row();
  bool close_row(CellSink& sink);
  Step finish();
  Step fail_with(Error error);
  void renew_stamp();
  // Ends run() after the entry at hand.
  void leave(ScanStep how) { leave_ = how; }

  ScanSetup setup_;
  const bool reversed_;
  std::vector<Bound> bounds_;  // in the order of reading
  size_t range_ = 0;           // into bounds_
  MergingIterator merge_;
  RangeDeletes range_deletes_;
  size_t range_delete_count_ = SIZE_MAX;
  FateJudge judge_;
  CellSelect select_;

  Place place_ = Place::fresh;
  Aim aim_ = Aim::entry;
  Step stood_ = Step::end;
  bool row_open_ = false;   // a row is begun and not closed
  bool row_gave_ = false;   // it gave a cell
  std::string row_prefix_;  // of the row begun last, or sought (reversed)
  std::string target_;      // of the last seek; a blocked one refers to it
  CommitStamp stamp_;
  uint64_t column_ = 0;  // the judge's column that select_ is about
  uint32_t misses_ = 0;  // cells in sequence that select_ did not want
  uint64_t rows_ = 0;
  uint64_t entries_read_ = 0;
  int64_t slice_left_ = 0;
  std::optional<ScanStep> leave_;
  std::optional<Error> error_;
};

}  // namespace cellar::engine
