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
// It renews the anchor every renew_us, well before the permission ends. When the manifest takes no
// edits any more, trusted time stands still where the last anchor permits: nothing dies, reads go
// on. What a start and a renewal make of the machine's clocks stands in clock_state.h.
#pragma once

#include <optional>
#include <vector>

#include "engine/manifest/clock_state.h"
#include "engine/store/manifest_store.h"
#include "io/base/result.h"
#include "io/runtime/event.h"
#include "io/runtime/gate.h"
#include "io/runtime/runtime.h"
#include "io/runtime/timers.h"

namespace cellar::engine {

// How time stands.
struct ClockReport {
  int64_t trusted_us = 0;
  int64_t wall_us = 0;
  int64_t held_us = 0;  // how far the wall clock is ahead of trusted time; at most kSlackUs is none
  bool synchronised = true;      // says the kernel
  int64_t steady_us = 0;         // for how long the wall clock has been synchronised and consistent
  int64_t release_after_us = 0;  // held time is released when steady_us reaches it
};

inline constexpr Subject kClockSubject{Subject::Kind::clock, 0};

class ClockKeeper {
 public:
  // What is ahead less than this is not called held: the wall clock is slewed within it.
  static constexpr int64_t kSlackUs = 1'000'000;

  // The trusted clocks of all shards.
  class Clocks {
   public:
    virtual ~Clocks() = default;
    // TrustedClock::begin_line() of each.
    virtual Async<Result<std::vector<ClockPoint>>> begin_lines() = 0;
    // Hands an anchor to each; resumes when all have it.
    virtual Async<Result<void>> spread(ClockAnchor anchor) = 0;
  };

  // `renew_us` 0: only when asked to. `runtime` is shard 0's; the others outlive it.
  ClockKeeper(const Runtime& runtime, ManifestStore& manifest, Clocks& clocks, ClockRules rules,
              int64_t renew_us);

  // At a start, before anything is answered: `saved` is what the manifest has, at `version`.
  Async<Result<void>> start(std::optional<ClockState> saved, uint64_t version);
  // Instead, where nothing may be written: trusted time stands at the last instant that an answer
  // may have been given at. REQUIRES: serve() and renew() do not follow.
  Async<Result<void>> stand(const ClockState& saved);
  // From here on it renews by itself, until stop().
  void serve();
  Async<void> stop();

  Async<Result<void>> renew();
  // An operator says that the wall clock is right: held time is released. Logged.
  Async<Result<ClockReport>> release();
  ClockReport report() const;

 private:
  static void on_timer(void* self) { static_cast<ClockKeeper*>(self)->wake_.notify_all(); }
  Async<void> loop();
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
  bool failed_ = false;  // the last renewal did: said once
  Notify wake_;
  Timer timer_;
  Gate running_{"clock keeper"};
};

}  // namespace cellar::engine
