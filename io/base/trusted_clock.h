// The trusted clock of SEMANTICS 3: a lower bound of real time, by which everything dies.
//
// One per shard, one thread. It follows the wall clock, but
//   1. it never goes back;
//   2. it is never later than its anchor plus the boot time that passed since then plus 500 ppm, so
//      a wall clock that jumps ahead hides nothing;
//   3. it never passes what the anchor permits: that much is durable, so that a later start can
//      begin no earlier than any answer that was given (engine/node/clock_keeper.h renews it);
//   4. it is never before its anchor, nor before a reading that was raised to.
// When (3) holds it up, because no anchor came, it stands still, and nothing dies.
//
// An anchor costs writes. Anchors are written while answers depend on the time (ask_us); readings
// for other purposes (now_us, expected_us) cause none.
//
// The clocks of a node have the same anchors and the same wall clock, but after a backward step of
// the wall clock each stands where it was read last. An anchor is not before any of them
// (begin_line), so it makes them equal again; what moves between shards in the meantime brings its
// clock's reading along (raise).
//
// Until the first anchor comes it believes the wall clock as it found it at construction; nothing
// may be answered by that, since the first anchor may be earlier.
//
// Example: anchored at 12:00:00, permitted to 12:00:10; the wall clock jumps to 15:00. Five seconds
// later now_us() is 12:00:05.0025 at most, and held_us() just under three hours.
#pragma once

#include <cstdint>

#include "io/base/clock.h"

namespace cellar {

struct ClockAnchor {
  int64_t trusted_us = 0;  // trusted time
  int64_t boot_us = 0;     // when the boot-time clock read this
  int64_t permitted_us = INT64_MAX;
};

// What `elapsed_us` of the boot-time clock may be in real time at most.
int64_t with_drift_us(int64_t elapsed_us);

// A reading, and the boot-time clock's at that moment.
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
  // now_us() for what is answered: the first one after an anchor tells the listener.
  int64_t ask_us() {
    if (!asked_) tell_listener();
    return now_us();
  }
  // What now_us() would be if an anchor came at this moment. Answers that depend on what is dead
  // must not go by it.
  int64_t expected_us();
  // (3) holds it up.
  bool stands();
  // `listener` is called in ask_us(), on this thread; null: removes it.
  void on_asked(void (*listener)(void* context), void* context);
  // From now on time goes on from there. An anchor before the present reading does not turn it
  // back; a later one raises it.
  void anchor(const ClockAnchor& anchor);
  // The bound (2) begins anew at the present reading. So until the next anchor no reading is later
  // than the answer plus the boot time since plus 500 ppm, whatever the wall clock does; an anchor
  // on or above that line undercuts nothing.
  ClockPoint begin_line();
  // Another clock of the node has read `reading_us`: no reading is earlier from now on. The bounds
  // stay as they are.
  void raise(int64_t reading_us);
  // How far the wall clock is ahead of the time that an anchor would permit: held time.
  int64_t held_us();
  const Clock& machine() const { return machine_; }

 private:
  int64_t bounded_us() const;  // by (2) alone
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
