// Timeline: the number of live versions of a column at every instant, as a step function built
// from intervals. The judge adds versions newest first, so at any moment it counts exactly the
// versions newer than the next one to judge.
//
// An instant is a commit stamp in nanoseconds. An event caused by time happens at the first
// nanosecond of its microsecond; the state at an instant is the state after everything of that
// instant has happened.
//
// The breakpoints are the nodes of a treap, each with the count from its instant up to the next;
// sums are pushed down lazily, and every node has the greatest count below it. Adding an interval
// and finding the first instant with a given count cost O(log n), in any order of versions. Memory:
// two nodes of 40 bytes per interval, reused for the next column.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/types.h"

namespace cellar::engine {

using Instant = uint64_t;
inline constexpr Instant kNever = UINT64_MAX;

constexpr Instant instant_of(CommitStamp stamp) { return stamp.value(); }
// The first instant of a microsecond; saturates at both ends.
constexpr Instant instant_of_us(int64_t us) {
  constexpr auto kLastUs = static_cast<int64_t>(kNever / 1000 - 1);
  return us <= 0 ? 0 : us > kLastUs ? kNever : static_cast<Instant>(us) * 1000;
}
// The first instant after a microsecond: kNever for the last one.
constexpr Instant instant_after_us(int64_t us) {
  return us == INT64_MAX ? kNever : instant_of_us(us + 1);
}

class Timeline {
 public:
  void clear();
  // One more version is alive in [from, to); an empty interval has no effect.
  void add(Instant from, Instant to);
  // The first instant in [from, to) with at least `rank` versions alive; kNever if there is none.
  Instant first_with(uint64_t rank, Instant from, Instant to) const;
  uint64_t count_at(Instant instant) const;
  // The maximum number alive at any instant.
  uint64_t most() const { return root_ == kNone ? 0 : nodes_[root_].most; }

  // Nodes visited so far for all columns, for tests.
  uint64_t steps() const { return steps_; }

 private:
  using Index = uint32_t;
  static constexpr Index kNone = UINT32_MAX;
  struct Node {
    Instant at;
    uint64_t count;  // excluding pending `added` of the nodes above
    uint64_t most;   // maximum in the subtree, excluding the same
    uint64_t added;  // to the subtrees below, not yet pushed down
    uint32_t priority;
    Index left = kNone;
    Index right = kNone;
  };

  void ensure(Instant at);
  void push_down(Index node);
  void pull_up(Index node);
  void raise(Index node);
  // Nodes before `at` go left, the others right.
  void split(Index node, Instant at, Index& left, Index& right);
  Index join(Index left, Index right);
  Instant find(Index node, uint64_t rank, Instant after, uint64_t added) const;
  uint32_t draw();

  std::vector<Node> nodes_;
  Index root_ = kNone;
  uint32_t random_ = 0x9e3779b9;
  mutable uint64_t steps_ = 0;
};

}  // namespace cellar::engine
