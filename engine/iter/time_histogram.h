// TimeHistogram: bytes by time in few buckets, to estimate how many bytes are older than a given
// time.
//
// Invariants
//   1. The buckets' bytes add up to everything that was added.
//   2. Every added time lies within the bucket with its bytes; so at_most_before() is never too
//      low and at_least_before() never too high. Buckets may overlap.
//   3. At most kMostBuckets; a bucket has more than 1/kParts of the bytes only if they have one
//      time or came as one piece. Few buckets overlap at any time, so the bounds differ by a few
//      such parts, and their middle is closer to the truth.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/base/coding.h"

namespace cellar::engine {

class TimeHistogram {
 public:
  struct Bucket {
    int64_t first_us = 0;
    int64_t last_us = 0;
    uint64_t bytes = 0;
    bool operator==(const Bucket&) const = default;
  };
  static constexpr size_t kParts = 24;
  static constexpr size_t kMostBuckets = 2 * kParts + 1;

  const std::vector<Bucket>& buckets() const { return buckets_; }  // sorted by first_us
  uint64_t bytes() const;
  bool empty() const { return buckets_.empty(); }
  // Upper and lower bound of the bytes with a time below `us`.
  uint64_t at_most_before(int64_t us) const;
  uint64_t at_least_before(int64_t us) const;

  bool operator==(const TimeHistogram&) const = default;

 private:
  friend class TimeHistogramBuilder;
  friend bool decode_time_histogram(Reader& in, TimeHistogram& out);
  std::vector<Bucket> buckets_;
};

// Accepts times in any order, in a few nanoseconds each once their spread is known; uses about 10
// KiB.
class TimeHistogramBuilder {
 public:
  void add(int64_t us, uint64_t bytes);
  uint64_t bytes() const { return total_; }
  TimeHistogram finish();

 private:
  static constexpr size_t kFineParts = 64;
  static constexpr size_t kMostPending = 256;
  void fold(size_t parts);

  std::vector<TimeHistogram::Bucket> buckets_;  // sorted by first_us, may overlap
  std::vector<TimeHistogram::Bucket> pending_;
  uint64_t total_ = 0;
};

// See "Cell profile" in FORMATS.md. decode returns false for invalid bytes.
void encode_time_histogram(std::string& out, const TimeHistogram& histogram);
bool decode_time_histogram(Reader& in, TimeHistogram& out);

}  // namespace cellar::engine
