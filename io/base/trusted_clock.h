// The trusted clock of SEMANTICS 3: a lower bound of real time that decides expiry.
//
// One per shard, one thread. It follows the wall clock, but
//   1. it never goes back;
//   2. it is never later than its anchor plus the boot time since the anchor plus 500 ppm, so a
//      wall clock that jumps ahead hides no data;
//   3. it never exceeds the time that the anchor permits. That permission is durable, so that a
//      restart never begins before an answer already given (engine/node/clock_keeper.h renews it);
//   4. it is never before its anchor or a reading passed to raise().
// If (3) applies because no anchor has come, the clock stands still and nothing expires.
//
// An anchor costs writes. Anchors are written while answers depend on the time (ask_us); readings
// for other purposes (now_us, expected_us) cause none.
//
// The clocks of a node share the anchors and the wall clock, but after a backward step of the wall
// clock each one stands at its last reading. An anchor is not before any of them (begin_line), so
// it makes them equal again. Until then, work that moves between shards carries its clock's reading
// along (raise).
//
// Before the first anchor the clock uses the wall clock as found at construction. No answer may
// depend on it, because the first anchor may be earlier.
//
// Example: anchored at 12:00:00, permitted to 12:00:10; the wall clock jumps to 15:00. Five seconds
// later now_us() is at most 12:00:05.0025, and held_us() is just under three hours.
#pragma once

#include <cstdint>

#include "io/base/clock.h"

namespace cellar {

struct ClockAnchor {
  int64_t trusted_us = 0;  // trusted time
  int64_t boot_us = 0;     // the boot-time clock at that moment
  int64_t permitted_us = INT64_MAX;
};

// The largest real time that `elapsed_us` on the boot-time clock can stand for.
int64_t with_drift_us(int64_t elapsed_us);

// A trusted reading and the boot-time clock at the same moment.
struct ClockPoint {
  int64_t trusted_us = 0;
  int64_t boot_us = 0;
};

class TrustedClock {
 public:
  static constexpr int64_t kDriftPpm = 500;

  // `machine` must outlive this.
  explicit TrustedClock(const Clock& machine);

  int64_t now_us();
  // now_us() for answers. The first call after an anchor notifies the listener.
  int64_t ask_us() {
    if (!asked_) tell_listener();
    return now_us();
  }
  // The value of now_us() if an anchor came now. Answers that depend on dead cells must not use it.
  int64_t expected_us();
  // Whether condition (3) stops the clock.
  bool stands();
  // ask_us() calls `listener` on this thread. Null removes it.
  void on_asked(void (*listener)(void* context), void* context);
  // Sets a new anchor. An anchor before the present reading does not turn the clock back; a later
  // one advances it.
  void anchor(const ClockAnchor& anchor);
  // Restarts bound (2) at the present reading and returns that point. Until the next anchor no
  // reading exceeds it plus the boot time since, plus 500 ppm, whatever the wall clock does. An
  // anchor at or above that line is never below a reading.
  ClockPoint begin_line();
  // Another clock of the node has read `reading_us`: from now on no reading is earlier. The bounds
  // do not change.
  void raise(int64_t reading_us);
  // Held time: how far the wall clock is ahead of the time that a new anchor would permit.
  int64_t held_us();
  const Clock& machine() const { return machine_; }

 private:
  int64_t bounded_us() const;  // bound (2) alone
  void tell_listener();

  const Clock& machine_;
  ClockAnchor anchor_;
  int64_t last_us_;
  bool anchored_ = false;
  bool asked_ = false;  // since the last anchor
  void (*listener_)(void* context) = nullptr;
  void* listener_context_ = nullptr;
};

}  // namespace cellar
