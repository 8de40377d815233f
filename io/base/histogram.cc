#include "io/base/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "io/base/check.h"

namespace cellar {
namespace {

// Values below 2 * kSteps have their own bucket; above, each doubling has kSteps buckets.
constexpr unsigned kStepBits = 10;
constexpr uint64_t kSteps = uint64_t{1} << kStepBits;

constexpr size_t bucket_of(uint64_t value) {
  if (value < 2 * kSteps) return value;
  const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - 1 - kStepBits;
  return shift * kSteps + (value >> shift);
}

// The largest value that falls into the bucket.
constexpr uint64_t highest_in(size_t bucket) {
  if (bucket < 2 * kSteps) return bucket;
  const uint64_t shift = bucket / kSteps - 1;
  return ((bucket % kSteps + kSteps + 1) << shift) - 1;
}

constexpr size_t kBuckets = bucket_of(Histogram::kMaxValue) + 1;

}  // namespace

void Histogram::record(uint64_t value, uint64_t times) {
  if (counts_.empty()) counts_.resize(kBuckets);
  counts_[bucket_of(std::min(value, kMaxValue))] += times;
  count_ += times;
  sum_ += value * times;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
}

void Histogram::merge(const Histogram& other) {
  if (other.count_ == 0) return;
  if (counts_.empty()) counts_.resize(kBuckets);
  for (size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

void Histogram::clear() { *this = Histogram(); }

uint64_t Histogram::percentile(double percent) const {
  CHECK(percent >= 0 && percent <= 100, "percentile {}", percent);
  if (count_ == 0) return 0;
  const double exact_rank = percent / 100 * static_cast<double>(count_);
  const uint64_t rank = std::max<uint64_t>(1, static_cast<uint64_t>(std::ceil(exact_rank - 1e-6)));
  uint64_t seen = 0;
  for (size_t i = 0; i + 1 < kBuckets; ++i) {
    seen += counts_[i];
    if (seen >= rank) return std::min(highest_in(i), max_);
  }
  return std::min(max_, kMaxValue);
}

}  // namespace cellar
