// ColumnDeletes: the timestamp-range deletes of one column. They arrive newest commit first (key
// order), so the first that covers a timestamp is the one that counts there, and later ones only
// fill gaps. n deletes cost O(n log n), however they overlap; cells, which come newest timestamp
// first, are then answered in one sweep.
//
// Example: [10, 20) at stamp 9, then [0, 30) at stamp 5: fragments 0..9 -> 5, 10..19 -> 9, 20..29
// -> 5.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "engine/model/types.h"

namespace cellar::engine {

class ColumnDeletes {
 public:
  void clear();
  bool empty() const { return fragments_.empty(); }
  // Timestamps [start_us, end_us), where kMaxTimestampUs includes that timestamp. False if newer
  // deletes already cover the whole range. REQUIRES: stamps do not increase from call to call.
  bool add(int64_t start_us, int64_t end_us, CommitStamp stamp);
  // The newest delete over that timestamp; stamp 0 if there is none. REQUIRES: timestamps do not
  // increase from call to call, and no add() after the first call.
  CommitStamp covering(int64_t timestamp_us);

 private:
  struct Fragment {
    int64_t start;
    int64_t last;  // inclusive
    CommitStamp stamp;
  };

  std::vector<Fragment> fragments_;  // disjoint
  // union of the fragments, start -> last; maintained from the second one on
  std::map<int64_t, int64_t> covered_;
  bool sorted_ = false;
  size_t at_ = 0;
};

}  // namespace cellar::engine
