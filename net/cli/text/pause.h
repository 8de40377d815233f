// Pauses that keep the connections of a client alive.
#pragma once

#include <algorithm>

#include "net/client/sync_client.h"

namespace cellar::cli {

inline void pause_us(client::SyncClient& client, int64_t us) {
  bool fired = false;
  Timer timer(client.loop().timers(), [](void* f) { *static_cast<bool*>(f) = true; }, &fired);
  client.loop().turn(false);
  timer.arm_after_us(us);
  while (!fired) client.loop().turn(true);
}

// Bounds how long work is retried after the node was last reachable, and the pauses between
// attempts.
class Patience {
 public:
  static constexpr int64_t kPatienceUs = 120'000'000;
  static constexpr int64_t kFirstPauseUs = 50'000;
  static constexpr int64_t kLongestPauseUs = 2'000'000;

  void progressed() {
    waited_us_ = 0;
    pause_us_ = kFirstPauseUs;
  }
  // Pauses before the next attempt; false if the time is used up.
  bool wait(client::SyncClient& client) {
    if (waited_us_ >= kPatienceUs) return false;
    pause_us(client, pause_us_);
    waited_us_ += pause_us_;
    pause_us_ = std::min(2 * pause_us_, kLongestPauseUs);
    return true;
  }

 private:
  int64_t waited_us_ = 0;
  int64_t pause_us_ = kFirstPauseUs;
};

// Whether the node may be back soon.
inline bool passes(const Error& error) {
  return error.code == Errc::unavailable || error.code == Errc::deadline_exceeded ||
         (error.retryable() && error.code != Errc::cancelled);
}

}  // namespace cellar::cli
