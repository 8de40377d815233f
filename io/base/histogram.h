// Histogram: counts of values, plain integers of one shard.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cellar {

// Counts of values from 0 to kMaxValue with three significant digits: exact below 2048, above that
// 1024 equal steps per doubling, so that a percentile is at most 0.1 % too high. Larger values
// count as kMaxValue, but max() and mean() are exact. Intended for nanoseconds or microseconds up
// to a minute. The first value allocates 221 KiB. The buckets are those of the HdrHistogram project
// (https://github.com/HdrHistogram) for three significant digits.
class Histogram {
 public:
  static constexpr uint64_t kMaxValue = 60'000'000'000;

  void record(uint64_t value) { record(value, 1); }
  void record(uint64_t value, uint64_t times);
  void merge(const Histogram& other);
  void clear();

  uint64_t count() const { return count_; }
  uint64_t sum() const { return sum_; }
  uint64_t min() const { return count_ == 0 ? 0 : min_; }
  uint64_t max() const { return max_; }
  double mean() const {
    return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
  }
  // The least recorded value (rounded up to three digits) that at least `percent` of all values do
  // not exceed; 0 if empty. `percent` is in 0..100.
  uint64_t percentile(double percent) const;
  // The count of each bucket; empty before the first value.
  std::span<const uint64_t> counts() const { return counts_; }

 private:
  std::vector<uint64_t> counts_;
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  uint64_t min_ = UINT64_MAX;
  uint64_t max_ = 0;
};

}  // namespace cellar
