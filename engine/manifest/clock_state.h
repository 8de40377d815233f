// ClockState: what the manifest records about time, and how a start uses it (SEMANTICS 3, "Clock
// safety"). Pure functions; ClockKeeper (clock_keeper.h) applies them.
//
// A start decides two things. The latest time of an earlier answer: at most what the last durable
// anchor permitted and, within one boot, what the boot-time clock has added since. And how much of
// the time that has passed since, according to the wall clock, is credible:
//
//   same boot        as if the node had not stopped: the boot-time clock continues the anchor
//   another boot     the gap since the anchor, up to max_trusted_gap, if the kernel reports its
//                    clock as synchronised; otherwise none until it does. The rest is held
//   no anchor        (a new directory) the wall clock
//
// After another boot time starts at the end of the permission. Real time may be earlier; then the
// start waits for it (wait_after_boot_us), so that nothing expires early.
//
// Invariants
//   1. No state is before its predecessor, or before an answer that its predecessor permitted.
//   2. A gap begins at the wall clock of the last anchor before the boot, or at that anchor's
//      trusted time if this is later. So it does not contain what the anchor held: held time stays
//      held over any number of boots, and a wall clock set back over a boot releases none of it.
//   3. A gap is measured once, at the first anchor at which the kernel reports its clock as
//      synchronised, whatever the wall clock has shown since the boot. Until then it is *pending*,
//      over restarts of the node and further boots, which it then includes. What the wall clock
//      does later within the boot is no gap.
//   4. At most max_trusted_gap of a gap is believed, besides the time of the boot-time clock.
//   5. Held time ends by an operator, or when the wall clock has been *steady* for
//      release_after_us: called synchronised at every anchor, and moved against the boot-time
//      clock, since the last anchor and since the steadiness began, by no more than drift and
//      kSteadyToleranceUs. So a jump ahead ends the steadiness, however long it has lasted.
//   6. Arithmetic saturates.
//
// Example: the anchor says 12:00 on Monday. The machine comes back with its clock at Friday 12:00,
// synchronised: time starts on Thursday 12:00 (72 h), and 24 h are held. After another boot, which
// takes a minute, time starts on Thursday 12:01, and 24 h are held.
//
// Example: the anchor says 12:00, and the machine, which has no battery clock, comes back in 1970.
// Time stands at 12:00. Ten seconds later the clock is set to 12:05 and called synchronised: the
// next anchor says 12:05.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "io/base/bytes.h"
#include "io/base/result.h"
#include "io/base/trusted_clock.h"

namespace cellar::engine {

// The state of ManifestKey::Kind::clock, id 0; see FORMATS.md.
struct ClockState {
  static constexpr uint8_t kVersion = 1;

  std::string boot_id;
  int64_t boot_us = 0;
  int64_t wall_us = 0;
  int64_t trusted_us = 0;
  int64_t permitted_us = 0;  // no answer has a later time
  // The end of what is credible of a pending gap once it is measured, counted at `boot_us`; 0: no
  // gap is pending.
  int64_t believable_us = 0;
  int64_t held_before_us = 0;  // held at the anchor where the pending gap began
  // Boot time since which the wall clock has been steady; -1: it is not, as in every stored state
  // with a pending gap.
  int64_t steady_since_us = -1;
  int64_t steady_offset_us = 0;  // wall clock minus boot-time clock at that time

  bool operator==(const ClockState&) const = default;
};
std::string encode_clock_state(const ClockState& state);
Result<ClockState> decode_clock_state(Bytes encoded);  // DATA_LOSS, FAILED_PRECONDITION

struct ClockRules {
  int64_t max_trusted_gap_us = 72 * 3'600'000'000LL;
  int64_t permit_us = 2'000'000;  // how far ahead an anchor permits time
  // held time is released after a steady clock for this long
  int64_t release_after_us = 24 * 3'600'000'000LL;
};

// How far the wall clock may move against the boot-time clock (beyond 500 ppm) and still count as
// steady.
inline constexpr int64_t kSteadyToleranceUs = 1'000'000;

// The machine's clocks at one moment.
struct ClockReading {
  std::string boot_id;
  int64_t boot_us = 0;
  int64_t wall_us = 0;
  bool synchronised = true;
  static ClockReading of(const Clock& machine);
};

// For a start after another boot: an upper bound of the time until real time reaches what the
// anchor permitted. Real time was not before the anchor when this boot began, and the boot-time
// clock says how long ago that was; a synchronised wall clock may give a better bound.
int64_t wait_after_boot_us(const ClockState& saved, const ClockReading& now);
// Trusted time at a start.
ClockState first_state(const ClockReading& now, const ClockRules& rules);
ClockState state_after_start(const ClockState& saved, const ClockReading& now,
                             const ClockRules& rules);
// For a start that may not write an anchor: the latest instant of an earlier answer; nothing later
// is permitted. A pending gap stays pending.
ClockState standing_state(const ClockState& saved, const ClockReading& now,
                          const ClockRules& rules);
// The next anchor of a running node at the reading `trusted_us`: measures a pending gap if the
// clock is synchronised, and releases held time after a long enough steady clock. Never before
// `state`.
ClockState renewed(const ClockState& state, int64_t trusted_us, const ClockReading& now,
                   const ClockRules& rules);
// Releases held time: an operator has confirmed the wall clock. Like renewed() if none is held.
ClockState released(const ClockState& state, const ClockReading& now, const ClockRules& rules);

ClockAnchor anchor_of(const ClockState& state);

}  // namespace cellar::engine
