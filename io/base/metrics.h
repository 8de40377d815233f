// Metrics: plain integers of one shard. Whoever reports them reads them on that shard and adds the
// shards up.
#pragma once

#include <cstdint>
#include <vector>

namespace cellar {

// Only grows.
class Counter {
 public:
  void add(uint64_t n = 1) { value_ += n; }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0;
};

class Gauge {
 public:
  void set(int64_t v) { value_ = v; }
  void add(int64_t n) { value_ += n; }
  int64_t value() const { return value_; }

 private:
  int64_t value_ = 0;
};

// Counts of values from 0 to kMaxValue, each kept to three significant digits: below 2048 exactly,
// above in 1024 equal steps for every doubling, so a percentile is at most 0.1 % too high. Larger
// values count as kMaxValue (max() and mean() know better). Meant for microseconds up to a minute.
// Its 136 KiB are taken with the first value.
class Histogram {
 public:
  static constexpr uint64_t kMaxValue = 60'000'000;

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
  // The least recorded value (to its three digits, rounded up) that at least `percent` of all
  // values do not exceed; 0 when nothing was recorded. percent is in 0..100.
  uint64_t percentile(double percent) const;
  // How many values are at most `value`, to its three digits.
  uint64_t count_up_to(uint64_t value) const;

 private:
  std::vector<uint64_t> counts_;
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  uint64_t min_ = UINT64_MAX;
  uint64_t max_ = 0;
};

}  // namespace cellar
