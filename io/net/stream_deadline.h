// StreamDeadline: closes a stream when its time is up, unless it is destroyed before.
#pragma once

#include <cstddef>
#include <cstdint>

#include "io/loop/timers.h"
#include "io/net/transport.h"

namespace cellar {

// Of one loop. The timers and the stream must outlive it.
class StreamDeadline {
 public:
  StreamDeadline(Timers& timers, ByteStream& stream, int64_t timeout_us)
      : timers_(timers),
        stream_(stream),
        until_us_(timers.now_us() + timeout_us),
        timer_(timers, &StreamDeadline::expire, this) {
    timer_.arm_after_us(timeout_us);
  }

  bool passed() const { return passed_; }
  int64_t left_us() const { return until_us_ - timers_.now_us(); }

  // Replaces the deadline by `for_us` from now, and reads and drops what the peer sends until then,
  // at most about `most_bytes`. After a refusal: closing with unread bytes would reset the
  // connection before the peer reads the reason.
  Async<void> linger(int64_t for_us, size_t most_bytes);

 private:
  static void expire(void* self) {
    auto& deadline = *static_cast<StreamDeadline*>(self);
    deadline.passed_ = true;
    deadline.stream_.close();
  }

  Timers& timers_;
  ByteStream& stream_;
  const int64_t until_us_;
  bool passed_ = false;
  Timer timer_;
};

}  // namespace cellar
