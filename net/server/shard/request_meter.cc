#include "net/server/shard/request_meter.h"

#include <algorithm>
#include <cmath>

#include "net/server/shard/session.h"

namespace cellar::server {

void LatencyCounts::add(const LatencyCounts& other) {
  for (size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
  sum_us_ += other.sum_us_;
}

void LatencyCounts::subtract(const LatencyCounts& earlier) {
  for (size_t i = 0; i < kBuckets; ++i) counts_[i] -= earlier.counts_[i];
  sum_us_ -= earlier.sum_us_;
}

uint64_t LatencyCounts::count() const {
  uint64_t all = 0;
  for (const uint64_t n : counts_) all += n;
  return all;
}

uint64_t LatencyCounts::below_power(unsigned bits) const {
  const size_t end = bucket_of(uint64_t{1} << bits);
  uint64_t seen = 0;
  for (size_t i = 0; i < std::min(end, kBuckets); ++i) seen += counts_[i];
  return seen;
}

uint64_t LatencyCounts::quantile_us(double share) const {
  const uint64_t all = count();
  if (all == 0) return 0;
  const double exact = std::ceil(share * static_cast<double>(all) - 1e-9);
  const uint64_t rank = std::max<uint64_t>(1, static_cast<uint64_t>(exact));
  uint64_t seen = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    seen += counts_[i];
    if (seen >= rank) return end_of(i);
  }
  return end_of(kBuckets - 1);
}

void RequestMeter::Figures::add(const Figures& other) {
  for (size_t op = 0; op < kOps; ++op) {
    for (size_t i = 0; i < kCodes; ++i) ops[op].answers[i] += other.ops[op].answers[i];
    ops[op].latency.add(other.ops[op].latency);
  }
}

void RequestMeter::settle(size_t count, int64_t now_us, int64_t slow_us) {
  for (size_t i = 0; i < count; ++i) {
    const Answered& one = waiting_[i];
    // Unknown operations are counted as operation 0.
    OpFigures& op = figures_.ops[one.op < kOps ? one.op : 0];
    op.answers[std::min(static_cast<size_t>(one.code), kCodes - 1)] += one.count;
    const int64_t took_us = std::max<int64_t>(now_us - one.received_us, 0);
    op.latency.record(static_cast<uint64_t>(took_us), one.count);
    if (slow_us != 0 && took_us >= slow_us) keep_slow(one, now_us);
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<ptrdiff_t>(count));
  sent_ -= std::min(sent_, count);
}

void RequestMeter::keep_slow(const Answered& one, int64_t now_us) {
  SlowRequest slow;
  slow.at_us = wall_.wall_us();
  slow.queued_us = one.began_us - one.received_us;
  const int64_t worked_until_us = one.replied_us == one.began_us ? now_us : one.replied_us;
  slow.engine_us = worked_until_us - one.began_us;
  slow.reply_us = now_us - worked_until_us;
  slow.op = one.op;
  slow.code = one.code;
  slow.table_id = one.table_id;
  slow.request_id = one.request_id;
  if (one.session != nullptr) {
    slow.client = one.session->author().client;
    slow.peer = one.session->peer();
  }
  slow_.add(std::move(slow));
}

void RequestMeter::forget(const Session& session) {
  for (Answered& one : waiting_) {
    if (one.session == &session) one.session = nullptr;
  }
}

}  // namespace cellar::server
