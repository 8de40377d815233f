// FilterTail: the tree of a CompiledFilter's tail, run over a batch of a row's cells: any run of
// them where the tree holds no condition (one cell at a time costs no memory), else the whole row.
//
// Every node turns a list of cells, sorted by their place in the row, into such a list. A list
// holds 8 bytes a cell, never the cells themselves. Each node is entered once a batch, by whoever
// is above it:
//   a leaf       keeps or changes each cell
//   chain        hands one child's list to the next
//   interleave   gives each child the same list and merges what they answer; of one cell, the
//                children's order
//   condition    runs its predicate, and then one branch on the same list
//   sink         puts its list aside for the answer, and answers nothing
// The answer is what the sinks put aside merged with what the root answers, the sinks' first where
// they are of the same cell. So a batch costs its nodes times the cells that reach them, merges
// aside (a factor of the logarithm of the branches).
//
// The tree is walked with a stack of frames instead of recursion, so that run() may stop anywhere
// when the slice is used up, and go on later.
//
// One cursor's, on one shard. Lists keep their memory from batch to batch, up to kKeepCells.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/filter/cell_tests.h"
#include "engine/filter/compiled_filter.h"

namespace cellar::engine {

using CellList = std::vector<FilteredCell>;

// Merges lists by cell; of equal cells the earlier list's come first.
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
  std::vector<Head> heap_;  // the least in front
};

class FilterTail {
 public:
  enum class Progress : uint8_t { done, yielded, too_large };

  // `filter` outlives this. Lists of more than `max_bytes` together are refused.
  FilterTail(const CompiledFilter& filter, size_t max_bytes);

  // Begins a batch: `input`, sorted, of `cells`. Both stay as they are until the answer is taken.
  void start(const FilterRow& row, std::span<const InputCell> cells, const CellList& input);
  Progress run(int64_t& budget);
  // The answer; after run() was done.
  ListMerge& answer() { return answer_; }

 private:
  static constexpr size_t kKeepCells = 64 * 1024;

  struct Frame {
    uint32_t node = 0;
    uint32_t child = 0;  // the next to run
    const CellList* in = nullptr;
    size_t at = 0;         // in `in`
    bool judged = false;   // condition: the predicate has answered
    bool merging = false;  // interleave: all children have
    CellList own;          // chain: the last child's answer
    CellList out;
    std::vector<CellList> runs;  // interleave: answers, run_count of them
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
  CellList result_;  // of the frame that was left
  bool has_result_ = false;
  std::vector<CellList> sinks_;  // sink_count_ of them
  size_t sink_count_ = 0;
  size_t held_ = 0;  // bytes of all lists
  ListMerge merge_;
  ListMerge answer_;
  std::vector<const CellList*> merged_;  // scratch
};

}  // namespace cellar::engine
