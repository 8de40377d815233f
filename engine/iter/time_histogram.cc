#include "engine/iter/time_histogram.h"

#include <algorithm>

namespace cellar::engine {
namespace {

using Bucket = TimeHistogram::Bucket;

bool earlier(const Bucket& a, const Bucket& b) { return a.first_us < b.first_us; }

}  // namespace

uint64_t TimeHistogram::bytes() const {
  uint64_t sum = 0;
  for (const Bucket& bucket : buckets_) sum += bucket.bytes;
  return sum;
}

uint64_t TimeHistogram::at_most_before(int64_t us) const {
  uint64_t sum = 0;
  for (const Bucket& bucket : buckets_) sum += bucket.first_us < us ? bucket.bytes : 0;
  return sum;
}

uint64_t TimeHistogram::at_least_before(int64_t us) const {
  uint64_t sum = 0;
  for (const Bucket& bucket : buckets_) sum += bucket.last_us < us ? bucket.bytes : 0;
  return sum;
}

void TimeHistogramBuilder::add(int64_t us, uint64_t bytes) {
  total_ += bytes;
  // The common case: an existing bucket that is not full, without a sort.
  const auto behind = std::upper_bound(buckets_.begin(), buckets_.end(), us,
                                       [](int64_t t, const Bucket& b) { return t < b.first_us; });
  if (behind != buckets_.begin()) {
    Bucket& bucket = *(behind - 1);
    const bool room = bucket.first_us == bucket.last_us || bucket.bytes < total_ / kFineParts;
    if (us <= bucket.last_us && room) {
      bucket.bytes += bytes;
      return;
    }
  }
  if (!pending_.empty() && pending_.back().first_us == us) {
    pending_.back().bytes += bytes;
    return;
  }
  pending_.push_back({us, us, bytes});
  if (pending_.size() >= kMostPending) fold(kFineParts);
}

// Neighbours share a bucket as long as it has at most one part of the bytes.
void TimeHistogramBuilder::fold(size_t parts) {
  buckets_.insert(buckets_.end(), pending_.begin(), pending_.end());
  pending_.clear();
  std::sort(buckets_.begin(), buckets_.end(), earlier);
  const uint64_t most = std::max<uint64_t>(total_ / parts, 1);
  size_t kept = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    const Bucket next = buckets_[i];
    const bool joins = kept > 0 && (buckets_[kept - 1].bytes + next.bytes <= most ||
                                    (buckets_[kept - 1].first_us == next.first_us &&
                                     buckets_[kept - 1].last_us == next.last_us));
    if (!joins) {
      buckets_[kept++] = next;
      continue;
    }
    buckets_[kept - 1].last_us = std::max(buckets_[kept - 1].last_us, next.last_us);
    buckets_[kept - 1].bytes += next.bytes;
  }
  buckets_.resize(kept);
}

TimeHistogram TimeHistogramBuilder::finish() {
  fold(TimeHistogram::kParts);
  TimeHistogram done;
  done.buckets_ = std::move(buckets_);
  *this = TimeHistogramBuilder();
  return done;
}

void encode_time_histogram(std::string& out, const TimeHistogram& histogram) {
  put_varint(out, histogram.buckets().size());
  int64_t before_us = 0;
  for (const Bucket& bucket : histogram.buckets()) {
    put_varint(out, zigzag(bucket.first_us - before_us));
    put_varint(out, static_cast<uint64_t>(bucket.last_us) - static_cast<uint64_t>(bucket.first_us));
    put_varint(out, bucket.bytes);
    before_us = bucket.first_us;
  }
}

bool decode_time_histogram(Reader& in, TimeHistogram& out) {
  out = TimeHistogram();
  const uint64_t count = in.varint();
  if (!in.ok() || count > TimeHistogram::kMostBuckets) return false;
  uint64_t before = 0;
  for (uint64_t i = 0; i < count; ++i) {
    Bucket bucket;
    before += static_cast<uint64_t>(in.signed_varint());
    bucket.first_us = static_cast<int64_t>(before);
    bucket.last_us = static_cast<int64_t>(before + in.varint());
    bucket.bytes = in.varint();
    if (!in.ok() || bucket.last_us < bucket.first_us) return false;
    out.buckets_.push_back(bucket);
  }
  return true;
}

}  // namespace cellar::engine
