// ClockKeeper: keeps the trusted clocks of all shards anchored in what is durable. Lives on shard
// 0.
//
// Invariants
//   1. No shard's trusted clock passes what the last durable anchor permits (TrustedClock holds
//      that); so a later start knows a bound of every answer that was given.
//   2. An anchor reaches the shards only after the manifest has it.
//   3. Anchors are made one at a time.
//   4. No anchor lies before its predecessor, nor before any reading of any shard: before each one
//      every clock begins a line at its reading (TrustedClock::begin_line), and the anchor is on or
//      above all those lines. So a start that goes on from it undercuts no answer, and no clock has
//      to go back when it comes.
//
// While requests ask for the time (TrustedClock::ask_us) the keeper renews the anchor every
// renew_us, well before the permission ends. An idle node renews it every kIdleUs; in between,
// trusted time stands where the last anchor permits, and the first request waits for the next
// anchor (catch_up).
//
// An anchor is *missing* from when a renewal has failed, or has taken kPatienceUs, to the next one
// that is durable. Meanwhile trusted time stands, and *lags* by how far it would be by now: nothing
// dies, and what is answered is answered as of then, while the lag is small (kMaxLagUs). Renewals
// are tried on, whether anybody asks or not. A wall clock that was stepped back causes no lag.
//
// What a start and a renewal make of the machine's clocks stands in clock_state.h.
#pragma once

#include <optional>
#include <vector>

#include "engine/clock_report.h"
#include "engine/manifest/clock_state.h"
#include "engine/store/manifest_store.h"
#include "io/base/result.h"
#include "io/loop/event.h"
#include "io/loop/gate.h"
#include "io/loop/runtime.h"
#include "io/loop/timers.h"

namespace cellar::engine {

inline constexpr Subject kClockSubject{Subject::Kind::clock, 0};

class ClockKeeper {
 public:
  // What is ahead less than this is not called held: the wall clock is slewed within it.
  static constexpr int64_t kSlackUs = 1'000'000;
  // Interval of the anchors of an idle node.
  static constexpr int64_t kIdleUs = 3'600'000'000;
  // Requests wait no longer than this for a renewal.
  static constexpr int64_t kPatienceUs = 1'000'000;
  // Where trusted time lags by more, reads are refused and the node is not ready.
  static constexpr int64_t kMaxLagUs = 10'000'000;
  // No start waits longer for what an earlier boot was permitted.
  static constexpr int64_t kMaxStartWaitUs = 10'000'000;

  // The trusted clocks of all shards.
  class Clocks {
   public:
    virtual ~Clocks() = default;
    // TrustedClock::begin_line() of each.
    virtual Async<Result<std::vector<ClockPoint>>> begin_lines() = 0;
    // Hands an anchor to each; resumes when all have it.
    virtual Async<Result<void>> spread(ClockAnchor anchor) = 0;
    // Whether ClockKeeper::asked() is called when one of them is asked.
    virtual Async<Result<void>> listen(bool yes) = 0;
  };

  // `renew_us` 0: only when asked to. `runtime` is shard 0's; the others outlive it.
  ClockKeeper(const Runtime& runtime, ManifestStore& manifest, Clocks& clocks, ClockRules rules,
              int64_t renew_us);

  // At a start, before anything is answered: `saved` is what the manifest has, at `version`. After
  // a quick reboot it waits first, for at most kMaxStartWaitUs.
  Async<Result<void>> start(std::optional<ClockState> saved, uint64_t version);
  // Instead, where nothing may be written: trusted time stands at the last instant that an answer
  // may have been given at. REQUIRES: serve() and renew() do not follow.
  Async<Result<void>> stand(const ClockState& saved);
  // From here on it renews by itself, until stop().
  void serve();
  Async<void> stop();
  // A clock was asked for the time since the last anchor.
  void asked();
  // Resumes when trusted time does not stand, or an anchor is missing: the lag then.
  Async<int64_t> catch_up();
  int64_t lag_us() const;

  Async<Result<void>> renew();
  // An operator says that the wall clock is right: held time is released. Logged.
  Async<Result<ClockReport>> release();
  ClockReport report() const;

 private:
  static constexpr int64_t kTellUs = 60'000'000;  // how often the log says that it lags

  static void on_timer(void* self) { static_cast<ClockKeeper*>(self)->wake_.notify_all(); }
  static void on_late(void* self) { static_cast<ClockKeeper*>(self)->late(); }
  Async<void> loop();
  int64_t until_next_us() const;
  Async<void> wait_after_boot(const ClockState& saved);
  void begin_renewal();
  void end_renewal(const Result<void>& done);
  void late();
  void tell_lag();
  Async<Result<void>> renew_here();
  Async<Result<void>> release_here();
  int64_t expected_us(const ClockReading& now) const;
  // The present reading of the machine, and the highest of the lines that the clocks begin now.
  struct Present {
    ClockReading machine;
    int64_t trusted_us = 0;
  };
  Async<Result<Present>> present();
  Async<Result<void>> install(ClockState state);
  void tell(const ClockState& before) const;

  Runtime runtime_;
  ManifestStore& manifest_;
  Clocks& clocks_;
  const ClockRules rules_;
  const int64_t renew_us_;
  ClockState state_;
  uint64_t version_ = kAbsent;
  AsyncMutex lock_;
  bool stopping_ = false;
  bool asked_ = false;  // since the last anchor
  bool missing_ = false;
  bool stands_ = false;
  bool told_ = false;        // that an anchor is missing
  int64_t told_us_ = 0;      // when the log said last by how much time lags; 0: it has not
  int64_t tried_us_ = 0;     // the last renewal, by the timers
  ConditionVariable wake_;   // the loop
  ConditionVariable moved_;  // who waits in catch_up()
  Timer timer_;              // the next renewal
  Timer patience_;           // of the one that is under way
  Gate running_{"clock keeper"};
};

}  // namespace cellar::engine
