// WriteRate: how much a disk takes from a shard, seen by what it took: the bytes of table writes
// over the time in which any were under way. That is no more than the disk can, for few are under
// way at once, others write beside them, and an end is seen when the loop comes round; so a share
// of it is no more than that share of the disk.
//
// It rises at once to what was seen, a window of kWindowBytes at a time, and falls slowly.
#pragma once

#include <cstddef>
#include <cstdint>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include "io/loop/timers.h"

namespace cellar::engine {

// One shard. Held by the store and by what it made, whichever lives longer.
class WriteRate : public boost::intrusive_ref_counter<WriteRate, boost::thread_unsafe_counter> {
 public:
  static constexpr uint64_t kWindowBytes = 1u << 20;
  // What a window that saw less is worth: it takes a GiB of them to forget a half. A loop that is
  // short of a processor sees ends late, which is not the disk's doing.
  static constexpr double kFall = 0.0007;

  // `timers` outlive it. Null: nothing is learnt.
  explicit WriteRate(const Timers* timers) : timers_(timers) {}

  // A write begins.
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
  // Bytes a microsecond; 0: not known yet.
  double bytes_per_us() const { return bytes_per_us_; }

 private:
  int64_t now_us() const { return timers_ == nullptr ? 0 : timers_->now_us(); }
  void close_window() {
    // On a clock that stands still nothing is learnt.
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
