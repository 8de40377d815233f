// RequestMeter: counts the answered requests of a shard by operation, result and latency, and
// records slow ones. One shard.
//
// A request's time runs from the receipt of its bytes to the hand-over of its answer to the socket.
// No clock is read per request: a turn reads one at its start, and a turn that sent answers is
// followed by another at once, whose reading ends this one. Until then the answered requests wait
// in a list, in which equal neighbours are one entry: requests of one kind that a connection sends
// together. The cost is a few nanoseconds per request, and the resolution is a turn: the stages of
// a request answered in the turn that took it up cannot be distinguished and count as `engine`.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "io/base/clock.h"
#include "io/base/result.h"
#include "net/server/limits/slow_requests.h"
#include "net/wire/op.h"

namespace cellar::server {

class Session;

// Counts of microseconds, four steps per doubling: a percentile is at most 25 % too high.
class LatencyCounts {
 public:
  static constexpr size_t kBuckets = 104;  // up to 2^26 us; the last one has all larger values

  void record(uint64_t us, uint64_t times = 1) {
    counts_[bucket_of(us)] += times;
    sum_us_ += us * times;
  }
  void add(const LatencyCounts& other);
  void subtract(const LatencyCounts& earlier);
  uint64_t count() const;
  uint64_t sum_us() const { return sum_us_; }
  // The number below 2^bits us; bits is 3 to 26.
  uint64_t below_power(unsigned bits) const;
  // The least bound that a `share` (0 to 1) of the values does not exceed; 0 if empty.
  uint64_t quantile_us(double share) const;
  const std::array<uint64_t, kBuckets>& counts() const { return counts_; }

  static constexpr size_t bucket_of(uint64_t us) {
    if (us < 8) return us;
    const unsigned shift = static_cast<unsigned>(std::bit_width(us)) - 3;
    const size_t bucket = shift * 4 + (us >> shift);
    return bucket < kBuckets ? bucket : kBuckets - 1;
  }
  static constexpr uint64_t end_of(size_t bucket) {  // exclusive
    if (bucket < 8) return bucket + 1;
    const size_t shift = bucket / 4 - 1;
    return (bucket % 4 + 5) << shift;
  }

 private:
  std::array<uint64_t, kBuckets> counts_{};
  uint64_t sum_us_ = 0;
};

class RequestMeter {
 public:
  static constexpr size_t kOps = wire::kOps;
  static constexpr size_t kCodes = 17;

  struct OpFigures {
    std::array<uint64_t, kCodes> answers{};  // by Errc
    LatencyCounts latency;
  };
  struct Figures {
    std::array<OpFigures, kOps> ops;
    void add(const Figures& other);
  };

  // Requests answered in this turn. `session` is valid until forget().
  struct Answered {
    Session* session = nullptr;
    uint64_t request_id = 0;
    uint64_t table_id = 0;
    int64_t received_us = 0;  // received
    int64_t began_us = 0;     // taken up by its handler
    int64_t replied_us = 0;   // its answer was complete
    uint16_t op = 0;
    Errc code = Errc::ok;
    uint32_t count = 1;  // equal ones; `request_id` is that of the first
  };

  // `wall` must outlive this. All times are of the shard's timers.
  explicit RequestMeter(const Clock& wall) : wall_(wall) {}

  void answered(const Answered& request) {
    if (waiting_.size() > sent_ && is_same(waiting_.back(), request)) {
      ++waiting_.back().count;
    } else {
      waiting_.push_back(request);
    }
  }
  bool empty() const { return waiting_.empty(); }
  // Starts a turn at `now_us`, which ends the previous one.
  void turn(int64_t now_us, int64_t slow_us) {
    if (sent_ > 0) settle(sent_, now_us, slow_us);
  }
  // Marks this turn's answers as handed to the socket.
  void sent() { sent_ = waiting_.size(); }
  // The session is being destroyed.
  void forget(const Session& session);

  const Figures& figures() const { return figures_; }
  const SlowRequests& slow() const { return slow_; }
  SlowRequests& slow() { return slow_; }

 private:
  static bool is_same(const Answered& a, const Answered& b) {
    return a.session == b.session && a.op == b.op && a.code == b.code && a.table_id == b.table_id &&
           a.received_us == b.received_us && a.began_us == b.began_us &&
           a.replied_us == b.replied_us;
  }
  void settle(size_t count, int64_t now_us, int64_t slow_us);
  void keep_slow(const Answered& request, int64_t now_us);

  const Clock& wall_;
  std::vector<Answered> waiting_;
  size_t sent_ = 0;  // this many waiting entries are sent
  Figures figures_;
  SlowRequests slow_;
};

}  // namespace cellar::server
