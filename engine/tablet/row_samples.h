// RowSamples: which rows of a tablet are used, by a bounded sample: every kEvery-th row that is
// noted is kept, the oldest of kMost makes room. Splits by load look at it. One addition and one
// branch on the way of a request.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/base/bytes.h"

namespace cellar::engine {

// One shard.
class RowSamples {
 public:
  static constexpr uint64_t kEvery = 64;  // a power of two
  static constexpr size_t kMost = 64;     // kept; a row key has at most 4 KiB

  void note(Bytes row) {
    if ((noted_++ & (kEvery - 1)) == 0 && !row.empty()) keep(row);
  }
  // Oldest first.
  std::vector<std::string> rows() const {
    std::vector<std::string> rows;
    for (size_t i = kept_ < kMost ? 0 : kept_ - kMost; i < kept_; ++i) {
      rows.push_back(ring_[i % kMost]);
    }
    return rows;
  }

 private:
  void keep(Bytes row) {
    if (ring_.size() < kMost) {
      ring_.emplace_back(row);
    } else {
      ring_[kept_ % kMost].assign(row);
    }
    ++kept_;
  }

  uint64_t noted_ = 0;
  size_t kept_ = 0;
  std::vector<std::string> ring_;  // grows to kMost
};

}  // namespace cellar::engine
