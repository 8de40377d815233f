// RangeDeletes: the row-range deletes (DropRowRange) that a read or a compaction has to honour, cut
// into disjoint fragments so that "what covers this row" is one binary search.
//
// A reader at stamp R must not see a delete committed after R. Readers never go back, so with R >=
// `floor` the fragment needs the newest delete at or below the floor, and each one above it; those
// are few (commits that are not yet visible, or that came while the reader was open).
//
// Example: [a, m) at 5 and [g, z) at 9, floor 9: fragments a..g -> 5, g..m -> 9, m..z -> 9.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/iter/range_delete.h"
#include "engine/model/types.h"
#include "io/base/bytes.h"

namespace cellar::engine {

class RangeDeletes {
 public:
  void clear();
  // Copied. Any order. Call build() after the last.
  void add(const StampedRange& range);
  // O(n log n). REQUIRES: nobody will ask at a stamp below `floor`.
  void build(CommitStamp floor = kMaxStamp);

  bool empty() const { return items_.empty(); }
  const std::vector<StampedRange>& items() const { return items_; }
  // The newest delete of `row` committed at or before `at`; stamp 0 when there is none.
  CommitStamp covering(Bytes row, CommitStamp at) const;
  // Rows in which the very same deletes lie share a stretch, until the next build(). kNoStretch:
  // before every delete.
  static constexpr size_t kNoStretch = SIZE_MAX - 1;
  size_t stretch_of(Bytes row) const;
  uint64_t builds() const { return builds_; }  // so far
  // All of them, newest first, whatever the floor. O(log n) for each that covers the row.
  void all_covering(Bytes row, CommitStamp at, std::vector<CommitStamp>& stamps) const;

 private:
  struct Fragment {
    Bytes start;  // up to the next fragment's start; of items_
    size_t first = 0;
    size_t count = 0;  // in stamps_, newest first
  };

  size_t plant(size_t first, size_t last);
  bool reaches_further(size_t a, size_t b) const;
  void stab(size_t first, size_t last, Bytes row, CommitStamp at,
            std::vector<CommitStamp>& stamps) const;

  uint64_t builds_ = 0;
  std::vector<StampedRange> items_;  // once built: by start
  // A balanced tree over items_: the middle of a stretch is its root, and furthest_ of the root is
  // the item of the stretch that ends last.
  std::vector<size_t> furthest_;
  std::vector<Fragment> fragments_;
  std::vector<CommitStamp> stamps_;
};

}  // namespace cellar::engine
