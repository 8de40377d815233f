// RangeDeletes: the row-range deletes (DropRowRange) that apply to a read or a compaction, cut into
// disjoint fragments, so that the deletes of a row are found by one binary search.
//
// A reader at stamp R must not see a delete committed after R. Readers never go back, so with R >=
// `floor` a fragment needs the newest delete at or below the floor and each one above it; those are
// few (commits not yet visible, or made while the reader was open).
//
// Example: [a, m) at 5 and [g, z) at 9, floor 9: fragments a..g -> 5, g..m -> 9, m..z -> 9.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/iter/range_delete.h"
#include "engine/model/types.h"
#include "io/base/bytes.h"

namespace cellar::engine {

class RangeDeletes {
 public:
  void clear();
  // Copies, in any order. Call build() after the last.
  void add(const RangeTombstone& range);
  // O(n log n). REQUIRES: no later query has a stamp below `floor`.
  void build(CommitStamp floor = kMaxStamp);

  bool empty() const { return items_.empty(); }
  const std::vector<RangeTombstone>& items() const { return items_; }
  // The newest delete of `row` committed at or before `at`; stamp 0 if there is none.
  CommitStamp covering(Bytes row, CommitStamp at) const;
  // Rows covered by exactly the same deletes share a stretch, until the next build(). kNoStretch:
  // before every delete.
  static constexpr size_t kNoStretch = SIZE_MAX - 1;
  size_t stretch_of(Bytes row) const;
  // The first row of the row's stretch. Valid until the next build(). REQUIRES: not kNoStretch.
  Bytes stretch_start(Bytes row) const { return fragments_[stretch_of(row)].start; }
  // The end of the row's stretch, exclusive; absent: it has none. Valid until the next build().
  std::optional<Bytes> stretch_end(Bytes row) const;
  uint64_t builds() const { return builds_; }  // number so far
  // All deletes of the row, newest first, regardless of the floor. O(log n) per delete found.
  void all_covering(Bytes row, CommitStamp at, std::vector<CommitStamp>& stamps) const;

 private:
  struct Fragment {
    Bytes start;  // ends at the next fragment's start; points into items_
    size_t first = 0;
    size_t count = 0;  // in stamps_, newest first
  };

  size_t plant(size_t first, size_t last);
  bool reaches_further(size_t a, size_t b) const;
  void stab(size_t first, size_t last, Bytes row, CommitStamp at,
            std::vector<CommitStamp>& stamps) const;

  uint64_t builds_ = 0;
  std::vector<RangeTombstone> items_;  // sorted by start after build()
  // A balanced tree over items_: the root of a stretch is its middle, and furthest_ of the root is
  // the item of the stretch that ends last.
  std::vector<size_t> furthest_;
  std::vector<Fragment> fragments_;
  std::vector<CommitStamp> stamps_;
};

}  // namespace cellar::engine
