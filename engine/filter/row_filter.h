// RowFilter: a CompiledFilter at work on the rows of one cursor. The reader asks it about each row
// and column, hands it the cells that live, and seeks over what cannot pass; it hands on what
// passes.
//
//   if (!filter.begin_row(row)) ...            // nothing of the row passes: seek to its end
//   switch (filter.begin_column(f, q)) ...     // take its cells, or seek as the verdict says
//   step = filter.cell(cell, sink, budget);    // for each living cell of a column taken
//   step = filter.end_row(sink, budget);
//   while (step is yielded or paused) { ...later...; step = filter.go_on(sink, budget); }
//   if (filter.row_gave()) sink.end_row(row);
//
// Where memory goes. A filter without a condition holds nothing: each cell is judged and handed on
// while its views are valid, so whoever called cell() keeps them valid until the step is `done`. A
// condition is decided by its row, so cells that reach the tail are copied until the row ends; the
// copies and the lists of the tail take at most `max_row_bytes` together, and a row that needs more
// fails with FAILED_PRECONDITION. What the gate and the head refuse is never copied.
//
// One shard.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/filter/filter_tail.h"
#include "io/base/arena.h"

namespace cellar::engine {

// As returned, a row may not be larger (SEMANTICS 6); nor may what is needed to filter it.
inline constexpr size_t kMaxFilteredRowBytes = 256u << 20;

enum class FilterStep : uint8_t {
  done,     // what was begun is finished: go on reading, but see take_pause()
  paused,   // the sink asked for it, and there is more to give: go_on()
  yielded,  // the budget is used up, or enough was done to look at the clock: go_on()
  failed,   // error()
};

class RowFilter {
 public:
  explicit RowFilter(std::shared_ptr<const CompiledFilter> filter,
                     size_t max_row_bytes = kMaxFilteredRowBytes);

  // False: nothing of the row passes. Columns and cells of it may be left out or not.
  bool begin_row(Bytes row);
  ColumnVerdict begin_column(Bytes family, Bytes qualifier);
  // REQUIRES: the column begun last was taken; the last step was done. `budget` counts entries
  // looked at; what is used is taken from it.
  FilterStep cell(const CellView& cell, CellSink& out, int64_t& budget);
  FilterStep end_row(CellSink& out, int64_t& budget);
  FilterStep go_on(CellSink& out, int64_t& budget);

  // The sink asked for a pause at the last cell given; asked once.
  bool take_pause() { return std::exchange(pause_asked_, false); }
  // A cell of the row was handed on.
  bool row_gave() const { return gave_; }
  // No further cell of this row can pass: the reader may go to the row's end.
  bool row_over() const { return over_; }
  const Error& error() const { return *error_; }  // REQUIRES: failed
  const CompiledFilter& compiled() const { return *filter_; }

 private:
  enum class Phase : uint8_t { idle, tail, answer };
  // What go_on() does at most, in entries.
  static constexpr int64_t kPortion = 64;

  bool pass_head(const InputCell& cell, FilteredCell& item, int64_t& budget);
  bool keep(const InputCell& cell, FilteredCell item);
  FilterStep begin_tail(CellSink& out, int64_t& budget);
  FilterStep work(CellSink& out, int64_t& budget);
  void give(const InputCell& cell, const FilteredCell& item, CellSink& out);
  FilterStep too_large();
  void forget_row();

  std::shared_ptr<const CompiledFilter> filter_;
  const size_t max_row_bytes_;
  CellTests head_;
  std::optional<FilterTail> tail_;

  std::string row_key_;
  FilterRow row_;
  uint64_t column_ = 0;
  std::string family_;  // that family_passes_ is about
  bool family_known_ = false;
  bool family_passes_ = false;
  bool gave_ = false;
  bool over_ = false;
  bool pause_asked_ = false;

  Phase phase_ = Phase::idle;
  std::vector<InputCell> cells_;  // that the tail is about: one, or the row's
  CellList items_;
  std::unique_ptr<Arena> copies_;  // of cells_, when the row is kept
  std::vector<CellNote> notes_;    // likewise, one each, where cells carry notes
  uint64_t kept_column_ = 0;       // of the last cell kept
  size_t kept_bytes_ = 0;
  std::optional<Error> error_;
};

}  // namespace cellar::engine
