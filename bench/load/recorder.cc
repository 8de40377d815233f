#include "bench/load/recorder.h"

#include <algorithm>
#include <utility>

#include "bench/load/hdr_log.h"

namespace cellar::bench {

void OperationStats::merge(const OperationStats& other) {
  latency.merge(other.latency);
  failed += other.failed;
  missing += other.missing;
  rows += other.rows;
}

void merge_into(Slice& to, const Slice& from) {
  for (size_t i = 0; i < kOperations; ++i) to[i].merge(from[i]);
}

Histogram all_latencies(const Slice& slice) {
  Histogram all;
  for (const OperationStats& stats : slice) all.merge(stats.latency);
  return all;
}

void Timeline::deliver(uint64_t interval, Slice slice) {
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] = open_.try_emplace(std::max(interval, settled_));
  if (is_new) {
    at->second = std::move(slice);
  } else {
    merge_into(at->second, slice);
  }
}

void Timeline::summarise(uint64_t interval, const Slice& slice) {
  Interval row;
  row.at_s = static_cast<double>(interval) * static_cast<double>(interval_ns_) / 1e9;
  row.length_s = static_cast<double>(interval_ns_) / 1e9;
  const auto figures = [&](const Histogram& h, uint64_t failed) {
    return Interval::Figures{
        h.count(), failed, h.percentile(50), h.percentile(99), h.percentile(99.9), h.max(), {}};
  };
  uint64_t failed = 0;
  for (size_t i = 0; i < kOperations; ++i) {
    row.operations[i] = figures(slice[i].latency, slice[i].failed);
    failed += slice[i].failed;
    if (encodes_ && slice[i].completed() > 0)
      row.operations[i].encoded = encode_hdr(slice[i].latency);
  }
  row.all = figures(all_latencies(slice), failed);
  intervals_.push_back(std::move(row));
  merge_into(total_, slice);
}

void Timeline::settle(uint64_t end) {
  const std::lock_guard lock(mutex_);
  for (; settled_ < end; ++settled_) {
    const auto node = open_.extract(settled_);
    summarise(settled_, node ? node.mapped() : Slice());
  }
}

bool Timeline::last(Interval& out) const {
  const std::lock_guard lock(mutex_);
  if (intervals_.empty()) return false;
  out = intervals_.back();
  return true;
}

void Timeline::finish(int64_t elapsed_ns) {
  uint64_t end = 0;
  {
    const std::lock_guard lock(mutex_);
    end = open_.empty() ? settled_ : open_.rbegin()->first + 1;
  }
  settle(end);
  if (intervals_.empty()) return;
  Interval& last = intervals_.back();
  const double left_s = static_cast<double>(elapsed_ns) / 1e9 - last.at_s;
  if (left_s > 0) last.length_s = std::min(last.length_s, left_s);
}

OperationStats& Recorder::stats(Operation operation, int64_t now_ns) {
  const auto interval = static_cast<uint64_t>(
      std::max<int64_t>(0, now_ns - times_.measure_from_ns) / timeline_.interval_ns());
  if (interval != interval_) {
    flush();
    interval_ = interval;
  }
  return slice_[static_cast<size_t>(operation)];
}

void Recorder::completed(Operation operation, int64_t now_ns, int64_t latency_ns, uint64_t rows) {
  OperationStats& s = stats(operation, now_ns);
  s.latency.record(static_cast<uint64_t>(std::max<int64_t>(0, latency_ns)));
  s.rows += rows;
  if (rows == 0 && reads(operation)) ++s.missing;
  ++completed_;
}

void Recorder::failed(Operation operation, int64_t now_ns) { ++stats(operation, now_ns).failed; }

void Recorder::flush() { timeline_.deliver(interval_, std::exchange(slice_, {})); }

}  // namespace cellar::bench
