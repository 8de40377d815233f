// WriteRate: the disk's write rate for a shard, estimated as bytes of table writes over the time in
// which any were in flight. The estimate is conservative: few writes are in flight, others write
// concurrently, and completions are seen only when the loop turns. A share of it is therefore at
// most that share of the disk.
//
// It rises at once to the observed value, per window of kWindowBytes, and falls slowly.
#pragma once

#include <cstddef>
#include <cstdint>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include "io/loop/timers.h"

namespace cellar::engine {

// One shard. Shared by the store and the objects it made.
class WriteRate : public boost::intrusive_ref_counter<WriteRate, boost::thread_unsafe_counter> {
 public:
  static constexpr uint64_t kWindowBytes = 1u << 20;
  // Weight of a window with a lower value: decays with a half-life of 1 GiB. A loop short of CPU
  // sees completions late, which must not count against the disk.
  static constexpr double kFall = 0.0007;

  // `timers` must outlive it. Null: nothing is estimated.
  explicit WriteRate(const Timers* timers) : timers_(timers) {}

  // A write starts.
  void began() {
    if (in_flight_++ == 0) since_us_ = now_us();
  }
  void ended(uint64_t bytes) {
    const int64_t now_us = this->now_us();
    bytes_ += bytes;
    busy_us_ += now_us - since_us_;
    since_us_ = now_us;
    --in_flight_;
    if (bytes_ >= kWindowBytes) close_window();
  }
  // Bytes per microsecond; 0: unknown.
  double bytes_per_us() const { return bytes_per_us_; }

 private:
  int64_t now_us() const { return timers_ == nullptr ? 0 : timers_->now_us(); }
  void close_window() {
    // Nothing is estimated on a stopped clock.
    if (busy_us_ > 0) {
      const double seen = static_cast<double>(bytes_) / static_cast<double>(busy_us_);
      bytes_per_us_ = seen > bytes_per_us_ ? seen : bytes_per_us_ + kFall * (seen - bytes_per_us_);
    }
    bytes_ = 0;
    busy_us_ = 0;
  }

  const Timers* const timers_;
  size_t in_flight_ = 0;
  int64_t since_us_ = 0;
  uint64_t bytes_ = 0;
  int64_t busy_us_ = 0;
  double bytes_per_us_ = 0;
};
using WriteRateRef = boost::intrusive_ptr<WriteRate>;

}  // namespace cellar::engine
