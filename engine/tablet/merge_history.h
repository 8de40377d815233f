// MergeHistory: the last ended merges of a shard, and what they have removed since the start.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "engine/merge_record.h"

namespace cellar::engine {

class MergeHistory {
 public:
  static constexpr size_t kKept = 128;

  void add(MergeRecord record) {
    left_cells_ += record.left_cells;
    left_bytes_ += record.left_bytes;
    if (kept_.size() == kKept) kept_.pop_front();
    kept_.push_back(record);
  }
  // Oldest first.
  std::vector<MergeRecord> kept() const { return {kept_.begin(), kept_.end()}; }
  uint64_t left_cells() const { return left_cells_; }
  uint64_t left_bytes() const { return left_bytes_; }

 private:
  std::deque<MergeRecord> kept_;
  uint64_t left_cells_ = 0;
  uint64_t left_bytes_ = 0;
};

}  // namespace cellar::engine
