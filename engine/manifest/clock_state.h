// ClockState: what the manifest remembers of time, and what a start makes of it (SEMANTICS 3,
// "Clock safety"). Pure functions; ClockKeeper (clock_keeper.h) carries them out.
//
// A start asks two things. What may have been answered already? At most what the last durable
// anchor permitted, and within one boot at most what the boot-time clock has made of it since. And
// how much of the time that has passed meanwhile, by the wall clock, is believed?
//
//   the same boot    as if the node had not stopped: the boot-time clock carries the anchor over
//   another boot     the gap since the anchor, up to max_trusted_gap, if the kernel reports its
//                    clock as synchronised; else nothing of it until it does. The rest is held
//   no anchor        (a new directory) the wall clock
//
// After another boot time starts where the permission ended. Real time may not be there yet: then
// the start waits for it (wait_after_boot_us), so that nothing dies early either.
//
// Example: the anchor says 12:00 on Monday. The machine comes back with its clock at Friday 12:00,
// synchronised: time starts on Thursday 12:00 (72 h), and 24 h are held.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "io/base/bytes.h"
#include "io/base/result.h"
#include "io/base/trusted_clock.h"

namespace cellar::engine {

// The state of Subject::Kind::clock, id 0; see FORMATS.md.
struct ClockState {
  static constexpr uint8_t kVersion = 1;

  std::string boot_id;
  int64_t boot_us = 0;
  int64_t wall_us = 0;
  int64_t trusted_us = 0;
  int64_t permitted_us = 0;  // no answer was given at a later time
  // A gap over a boot that is still to be believed, up to here, once the kernel's clock is
  // synchronised; 0: none. Counted at `boot_us`.
  int64_t believable_us = 0;
  // Since when (boot time) the wall clock has been synchronised and consistent; -1: it is not.
  int64_t steady_since_us = -1;
  int64_t steady_offset_us = 0;  // wall clock less boot-time clock, then

  bool operator==(const ClockState&) const = default;
};
std::string encode_clock_state(const ClockState& state);
Result<ClockState> decode_clock_state(Bytes encoded);  // DATA_LOSS, FAILED_PRECONDITION

struct ClockRules {
  int64_t max_trusted_gap_us = 72 * 3'600'000'000LL;
  int64_t permit_us = 2'000'000;                    // how far ahead an anchor permits
  int64_t release_after_us = 24 * 3'600'000'000LL;  // of a steady clock: held time is released
};

// The wall clock may move so far against the boot-time clock (and 500 ppm) and still be called
// steady.
inline constexpr int64_t kSteadyToleranceUs = 1'000'000;

// What the machine's clocks say at one moment.
struct ClockReading {
  std::string boot_id;
  int64_t boot_us = 0;
  int64_t wall_us = 0;
  bool synchronised = true;
  static ClockReading of(const Clock& machine);
};

// Of a start after another boot: for so long real time may still be before what the anchor
// permitted. Real time was not before the anchor when this boot began, and the boot-time clock says
// how long ago that was; a synchronised wall clock may say more.
int64_t wait_after_boot_us(const ClockState& saved, const ClockReading& now);
// Where trusted time stands at a start.
ClockState first_state(const ClockReading& now, const ClockRules& rules);
ClockState state_after_start(const ClockState& saved, const ClockReading& now,
                             const ClockRules& rules);
// Of a start that may write no anchor: the last instant that an answer may have been given at, and
// nothing later is permitted.
ClockState standing_state(const ClockState& saved, const ClockReading& now,
                          const ClockRules& rules);
// The next anchor of a running node, of which `trusted_us` is the present reading: believes what
// has become believable and releases what has been steady for long enough. Never before `state`.
ClockState renewed(const ClockState& state, int64_t trusted_us, const ClockReading& now,
                   const ClockRules& rules);
// Held time is released: an operator says that the wall clock is right.
ClockState released(const ClockState& state, const ClockReading& now, const ClockRules& rules);

ClockAnchor anchor_of(const ClockState& state);

}  // namespace cellar::engine
