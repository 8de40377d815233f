// RowSamples: a bounded sample of the rows of a tablet that are in use, for splits by load: every
// kEvery-th noted row is kept, and the oldest of kMost is replaced. A note costs one addition and
// one branch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/base/bytes.h"

namespace cellar::engine {

// Owned by one shard.
class RowSamples {
 public:
  static constexpr uint64_t kEvery = 64;  // a power of two
  static constexpr size_t kMost = 64;     // number kept; a row key has at most 4 KiB

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
