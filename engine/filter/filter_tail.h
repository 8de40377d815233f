// FilterTail: runs the tree of a CompiledFilter's tail over a batch of a row's cells: any sequence
// of them if the tree has no condition (one cell at a time needs no memory), otherwise the whole
// row.
//
// Every node converts a list of cells, sorted by position in the row, to such a list. A list has 8
// bytes per cell, not the cells. Each node is entered once per batch, by its parent:
//   a leaf       keeps or changes each cell
//   chain        passes one child's list to the next
//   interleave   gives each child the same list and merges their outputs; for one cell, in the
//                children's order
//   condition    runs its predicate, then one branch on the same list
//   sink         stores its list for the result and outputs nothing
// The result is the sinks' lists merged with the root's output, the sinks' first for the same cell.
// A batch thus costs its nodes times the cells that reach them, except for merges (a factor of the
// logarithm of the branches).
//
// The tree is walked with a stack of frames instead of recursion, so that run() can stop anywhere
// when the slice is used up, and continue later.
//
// One cursor, one shard. Lists keep their memory between batches, up to kKeepCells.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/filter/cell_tests.h"
#include "engine/filter/compiled_filter.h"

namespace cellar::engine {

using CellList = std::vector<FilteredCell>;

// Merges lists by cell; for equal cells the earlier list comes first.
class ListMerge {
 public:
  void start(std::span<const CellList* const> lists);
  bool done() const { return heap_.empty(); }
  const FilteredCell& top() const { return (*lists_[heap_.front().list])[at_[heap_.front().list]]; }
  void next();  // REQUIRES: not done

 private:
  struct Head {
    uint32_t cell;
    uint32_t list;
    bool operator>(const Head& other) const {
      return cell != other.cell ? cell > other.cell : list > other.list;
    }
  };

  std::vector<const CellList*> lists_;
  std::vector<size_t> at_;
  std::vector<Head> heap_;  // the least at the front
};

class FilterTail {
 public:
  enum class Progress : uint8_t { done, yielded, too_large };

  // `filter` must outlive this. Lists of more than `max_bytes` in total are refused.
  FilterTail(const CompiledFilter& filter, size_t max_bytes);

  // Starts a batch: `input`, sorted, of `cells`. Both must not change until the result is taken.
  void start(const FilterRow& row, std::span<const InputCell> cells, const CellList& input);
  Progress run(int64_t& budget);
  // The result; valid after run() was done.
  ListMerge& answer() { return answer_; }

 private:
  static constexpr size_t kKeepCells = 64 * 1024;

  struct Frame {
    uint32_t node = 0;
    uint32_t child = 0;  // next child to run
    const CellList* in = nullptr;
    size_t at = 0;         // in `in`
    bool judged = false;   // condition: the predicate has run
    bool merging = false;  // interleave: all children have run
    CellList own;          // chain: the last child's output
    CellList out;
    std::vector<CellList> runs;  // interleave: outputs, run_count of them
    size_t run_count = 0;
  };

  const FilterNode& spec(const Frame& f) const { return nodes_[f.node].spec; }
  void push(uint32_t node, const CellList* in);
  void step(Frame& f, int64_t& budget);
  void step_leaf(Frame& f, int64_t& budget);
  void step_chain(Frame& f);
  void step_interleave(Frame& f, int64_t& budget);
  void step_condition(Frame& f);
  void answer_with(Frame& f);
  void take_result(CellList& into);
  void put(CellList& list, FilteredCell item);
  void drop(CellList& list);
  void finish();

  const std::vector<CompiledFilter::Node>& nodes_;
  CellTests tests_;
  const size_t max_bytes_;
  FilterRow row_;
  std::span<const InputCell> cells_;
  std::array<Frame, kMaxFilterDepth + 1> frames_;
  size_t depth_ = 0;
  CellList result_;  // output of the frame just left
  bool has_result_ = false;
  std::vector<CellList> sinks_;  // sink_count_ of them
  size_t sink_count_ = 0;
  size_t held_ = 0;  // bytes of all lists
  ListMerge merge_;
  ListMerge answer_;
  std::vector<const CellList*> merged_;  // scratch
};

}  // namespace cellar::engine
