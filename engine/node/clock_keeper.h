// ClockKeeper: keeps the trusted clocks of all shards anchored in durable state. On shard 0.
//
// Invariants
//   1. No shard's trusted clock passes what the last durable anchor permits (TrustedClock ensures
//      that); a later start thus knows a bound of every answer given.
//   2. An anchor reaches the shards only after the manifest has it.
//   3. Anchors are made one at a time.
//   4. No anchor is before its predecessor or any reading of any shard: before each one every clock
//      begins a line at its reading (TrustedClock::begin_line), and the anchor is on or above all
//      these lines. A start that continues from it is not before any answer, and no clock has to
//      go back.
//
// While requests need the time (TrustedClock::ask_us) the keeper renews the anchor every renew_us,
// well before the permission ends. An idle node renews it every kIdleUs; in between, trusted time
// stands where the last anchor permits, and the first request waits for the next anchor (catch_up).
// If held time has begun or ended by more than drift since the anchor, as after a step of the wall
// clock, an idle node writes an anchor within kLookUs, and stop() writes one: what is held is on
// record before the machine boots, so that the boot's gap does not contain it.
//
// An anchor is *missing* from the moment when a renewal has failed, or has taken kPatienceUs, until
// the next durable one. Meanwhile trusted time stands, and *lags* by how far it would have
// advanced: nothing expires, and answers are as of that time while the lag is small (kMaxLagUs).
// Renewals are retried, with or without requests. A wall clock set back causes no lag.
//
// clock_state.h defines how a start and a renewal use the machine's clocks.
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

inline constexpr ManifestKey kClockKey{ManifestKey::Kind::clock, 0};

class ClockKeeper {
 public:
  // A smaller lead does not count as held, because the wall clock is slewed within it.
  static constexpr int64_t kSlackUs = 1'000'000;
  // Interval of the anchors of an idle node.
  static constexpr int64_t kIdleUs = 3'600'000'000;
  // Interval at which an idle node compares held time with its anchor.
  static constexpr int64_t kLookUs = 60'000'000;
  // Longest wait of requests for a renewal.
  static constexpr int64_t kPatienceUs = 1'000'000;
  // With a larger lag reads are refused and the node is not ready.
  static constexpr int64_t kMaxLagUs = 10'000'000;
  // Longest wait of a start for the time that an earlier boot was permitted.
  static constexpr int64_t kMaxStartWaitUs = 10'000'000;

  // The trusted clocks of all shards.
  class Clocks {
   public:
    virtual ~Clocks() = default;
    // Calls TrustedClock::begin_line() on each.
    virtual Async<Result<std::vector<ClockPoint>>> begin_lines() = 0;
    // Passes an anchor to each; resumes when all have it.
    virtual Async<Result<void>> spread(ClockAnchor anchor) = 0;
    // Whether ClockKeeper::asked() is called when one of them is read for an answer.
    virtual Async<Result<void>> listen(bool yes) = 0;
  };

  // `renew_us` 0: only on request. `runtime` is shard 0's; the other arguments must outlive this.
  ClockKeeper(const Runtime& runtime, ManifestStore& manifest, Clocks& clocks, ClockRules rules,
              int64_t renew_us);

  // Call at a start, before anything is answered: `saved` is the manifest's state at `version`.
  // After a quick reboot it first waits, at most kMaxStartWaitUs.
  Async<Result<void>> start(std::optional<ClockState> saved, uint64_t version);
  // Call instead if nothing may be written: trusted time stands at the latest instant of an earlier
  // answer. REQUIRES: serve() and renew() do not follow.
  Async<Result<void>> stand(const ClockState& saved);
  // Starts automatic renewals, until stop().
  void serve();
  Async<void> stop();
  // A clock was read for an answer since the last anchor.
  void asked();
  // Resumes when trusted time does not stand, or an anchor is missing; returns the lag.
  Async<int64_t> catch_up();
  int64_t lag_us() const;

  Async<Result<void>> renew();
  // An operator has confirmed the wall clock: releases held time. Logged.
  Async<Result<ClockReport>> release();
  ClockReport report() const;

 private:
  static constexpr int64_t kTellUs = 60'000'000;  // interval of log lines about the lag

  static void on_timer(void* self) { static_cast<ClockKeeper*>(self)->wake_.notify_all(); }
  static void on_late(void* self) { static_cast<ClockKeeper*>(self)->late(); }
  Async<void> loop();
  int64_t until_next_us() const;
  bool held_time_changed() const;  // since the last anchor
  Async<void> wait_after_boot(const ClockState& saved);
  void begin_renewal();
  void end_renewal(const Result<void>& done);
  void late();
  void tell_lag();
  Async<Result<void>> renew_here();
  Async<Result<void>> release_here();
  int64_t bound_us(const ClockReading& now) const;     // by the boot-time clock since the anchor
  ClockState expected(const ClockReading& now) const;  // the next anchor, if it came now
  // The present reading of the machine, and the highest of the lines that the clocks start now.
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
  bool serving_ = false;
  bool stopping_ = false;
  bool asked_ = false;  // since the last anchor
  bool missing_ = false;
  bool stands_ = false;
  bool told_ = false;        // a missing anchor was logged
  int64_t told_us_ = 0;      // last log line about the lag; 0: none
  int64_t tried_us_ = 0;     // time of the last renewal, by the timers
  ConditionVariable wake_;   // wakes the loop
  ConditionVariable moved_;  // wakes callers of catch_up()
  Timer timer_;              // for the next renewal
  Timer patience_;           // for the renewal in progress
  Gate running_{"clock keeper"};
};

}  // namespace cellar::engine
