// RowFilter: runs a CompiledFilter over the rows of one cursor. The reader asks it about each row
// and column, passes it the live cells, and seeks past what cannot pass; it outputs what passes.
//
//   if (!filter.begin_row(row)) ...            // nothing of the row passes: seek to its end
//   switch (filter.begin_column(f, q)) ...     // take its cells, or seek as the verdict says
//   step = filter.cell(cell, sink, budget);    // for each live cell of a column taken
//   step = filter.end_row(sink, budget);
//   while (step is yielded or paused) { ...later...; step = filter.go_on(sink, budget); }
//   if (filter.row_gave()) sink.end_row(row);
//
// Memory. A filter without a condition stores nothing: each cell is judged and output while its
// views are valid, so the caller of cell() keeps them valid until the step is `done`. A condition
// depends on the whole row, so cells that reach the tail are copied until the row ends; the copies
// and the lists of the tail take at most `max_row_bytes` in total, and a row that needs more fails
// with FAILED_PRECONDITION. Cells rejected by the gate or the head are never copied.
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

// Limit of a returned row (SEMANTICS 6), and of the memory for filtering it.
inline constexpr size_t kMaxFilteredRowBytes = 256u << 20;

enum class FilterStep : uint8_t {
  done,     // the operation is complete; check take_pause()
  paused,   // the sink asked for a pause and more output follows: go_on()
  yielded,  // the budget is used up, or the clock should be checked: go_on()
  failed,   // see error()
};

class RowFilter {
 public:
  explicit RowFilter(std::shared_ptr<const CompiledFilter> filter,
                     size_t max_row_bytes = kMaxFilteredRowBytes);

  // False: nothing of the row passes. Its columns and cells may then be omitted.
  bool begin_row(Bytes row);
  ColumnVerdict begin_column(Bytes family, Bytes qualifier);
  // REQUIRES: the last column was taken; the last step was done. `budget` counts entries; the cost
  // is subtracted.
  FilterStep cell(const CellView& cell, CellSink& out, int64_t& budget);
  FilterStep end_row(CellSink& out, int64_t& budget);
  FilterStep go_on(CellSink& out, int64_t& budget);

  // The sink asked for a pause at the last cell; resets the flag.
  bool take_pause() { return std::exchange(pause_asked_, false); }
  // Whether a cell of the row was output.
  bool row_gave() const { return gave_; }
  // No further cell of this row can pass: the reader may skip to the end of the row.
  bool row_over() const { return over_; }
  const Error& error() const { return *error_; }  // REQUIRES: failed
  const CompiledFilter& compiled() const { return *filter_; }

 private:
  enum class Phase : uint8_t { idle, tail, answer };
  // Maximum work of go_on(), in entries.
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
  std::string family_;  // to which family_passes_ applies
  bool family_known_ = false;
  bool family_passes_ = false;
  bool gave_ = false;
  bool over_ = false;
  bool pause_asked_ = false;

  Phase phase_ = Phase::idle;
  std::vector<InputCell> cells_;  // cells of the tail's batch: one, or the whole row
  CellList items_;
  std::unique_ptr<Arena> copies_;  // backing of cells_ if the row is kept
  std::vector<CellNote> notes_;    // one per cell, if cells have notes; also kept
  uint64_t kept_column_ = 0;       // of the last cell kept
  size_t kept_bytes_ = 0;
  std::optional<Error> error_;
};

}  // namespace cellar::engine
