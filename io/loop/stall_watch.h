// StallWatch: counts and reports loop turns longer than a limit, the main cause of tail latency on
// a shard.
#pragma once

#include <cstdint>

#include "io/base/clock.h"
#include "io/loop/loop.h"

namespace cellar {

// Registers with the loop for its lifetime. A turn is measured from one on_turn() to the next,
// excluding sleep.
class StallWatch final : public LoopHook {
 public:
  static constexpr int64_t kDefaultLimitUs = 5'000;
  static constexpr int64_t kLogEveryUs = 1'000'000;  // at most one log line per second

  // `clock` must outlive this; its boot time is read at most twice per turn.
  StallWatch(Loop& loop, const Clock& clock, int64_t limit_us = kDefaultLimitUs);
  ~StallWatch() override;

  bool on_turn() override;
  bool may_sleep() override;

  uint64_t stalls() const { return stalls_; }
  int64_t longest_us() const { return longest_us_; }

 private:
  Loop& loop_;
  const Clock& clock_;
  int64_t limit_us_;
  int64_t turn_began_us_ = 0;
  bool slept_ = true;
  uint64_t stalls_ = 0;
  int64_t longest_us_ = 0;
  int64_t logged_us_ = 0;
  uint64_t logged_stalls_ = 0;
};

}  // namespace cellar
