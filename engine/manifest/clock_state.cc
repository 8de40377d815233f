#include "engine/manifest/clock_state.h"

#include <algorithm>
#include <utility>

#include "engine/manifest/decode.h"
#include "io/base/coding.h"
#include "io/base/saturating.h"

namespace cellar::engine {
namespace {

int64_t offset_of(int64_t wall_us, int64_t boot_us) { return saturating_sub(wall_us, boot_us); }

ClockState stated(const ClockReading& now, int64_t trusted_us, const ClockRules& rules) {
  ClockState state;
  state.boot_id = now.boot_id;
  state.boot_us = now.boot_us;
  state.wall_us = now.wall_us;
  state.trusted_us = trusted_us;
  state.permitted_us = saturating_add(trusted_us, rules.permit_us);
  if (now.synchronised) {
    state.steady_since_us = now.boot_us;
    state.steady_offset_us = offset_of(now.wall_us, now.boot_us);
  }
  return state;
}

bool same_boot(const ClockState& saved, const ClockReading& now) {
  return !now.boot_id.empty() && saved.boot_id == now.boot_id && now.boot_us >= saved.boot_us;
}

int64_t drift_us(int64_t elapsed_us) {
  return saturating_sub(with_drift_us(elapsed_us), std::max<int64_t>(0, elapsed_us));
}

// Whether two offsets of the wall clock, `elapsed_us` apart, may be those of a steady clock.
bool consistent(int64_t offset_us, int64_t earlier_us, int64_t elapsed_us) {
  const int64_t most_us = saturating_add(kSteadyToleranceUs, drift_us(elapsed_us));
  const int64_t moved_us = saturating_sub(offset_us, earlier_us);
  return moved_us <= most_us && moved_us >= -most_us;
}

// `next` has just been stated: decides whether the steadiness of `before` continues. The drift of a
// long steadiness is bounded, so that small steps do not hide in it; twice the time of a release
// lets a clock that drifts all the time reach that release.
void carry_steadiness(const ClockState& before, const ClockReading& now, const ClockRules& rules,
                      ClockState& next) {
  if (before.steady_since_us < 0 || next.steady_since_us < 0) return;
  const int64_t last_us = offset_of(before.wall_us, before.boot_us);
  if (!consistent(next.steady_offset_us, last_us, now.boot_us - before.boot_us)) return;
  const int64_t steady_us =
      std::min(now.boot_us - before.steady_since_us,
               saturating_add(rules.release_after_us, rules.release_after_us));
  if (!consistent(next.steady_offset_us, before.steady_offset_us, steady_us)) return;
  next.steady_since_us = before.steady_since_us;
  next.steady_offset_us = before.steady_offset_us;
}

// `next` has just been stated: the gap of `before` stays pending.
void carry_gap(const ClockState& before, const ClockReading& now, ClockState& next) {
  if (before.believable_us == 0) return;
  next.believable_us = saturating_add(before.believable_us, now.boot_us - before.boot_us);
  next.held_before_us = before.held_before_us;
}

// Continues as if the node had not stopped: time is at most the bound, and no answer was given
// later. The wall clock cannot decide this, because it may have been ahead since the anchor and be
// right or behind now. Time therefore starts at the latest instant of a possible answer, which is
// ahead of real time by at most 500 ppm of the time since the anchor.
ClockState continued(const ClockState& saved, const ClockReading& now, const ClockRules& rules) {
  const int64_t elapsed_us = now.boot_us - saved.boot_us;
  const int64_t bound_us = saturating_add(saved.trusted_us, with_drift_us(elapsed_us));
  // Without a bound (tests) a wall clock counts as having been ahead only if it went back.
  const int64_t least_us = saturating_add(saved.wall_us, elapsed_us - drift_us(elapsed_us));
  const bool may_have_been_ahead =
      saved.permitted_us != INT64_MAX || saved.wall_us < saved.trusted_us || now.wall_us < least_us;
  const int64_t answered_us =
      may_have_been_ahead ? std::min(saved.permitted_us, bound_us) : saved.trusted_us;
  ClockState state = stated(now, std::max(answered_us, std::min(now.wall_us, bound_us)), rules);
  carry_gap(saved, now, state);
  carry_steadiness(saved, now, rules, state);
  return state;
}

// What was held where the gap of a boot after `saved` begins.
int64_t held_before_us(const ClockState& saved) {
  if (saved.believable_us != 0) return saved.held_before_us;
  return std::max<int64_t>(0, saturating_sub(saved.wall_us, saved.trusted_us));
}

// After another boot only the permission is known of the past, and a gap is pending.
ClockState booted(const ClockState& saved, const ClockReading& now, const ClockRules& rules) {
  // Without a bound (tests) the anchor itself is the best estimate.
  const bool bounded = saved.permitted_us != INT64_MAX;
  ClockState state = stated(now, bounded ? saved.permitted_us : saved.trusted_us, rules);
  state.believable_us = saturating_add(saved.trusted_us, rules.max_trusted_gap_us);
  state.held_before_us = held_before_us(saved);
  return state;
}

}  // namespace

ClockReading ClockReading::of(const Clock& machine) {
  // First: a reading from before the clock was set is not called synchronised.
  const bool synchronised = machine.synchronised();
  return {.boot_id = machine.boot_id(),
          .boot_us = machine.boot_us(),
          .wall_us = machine.wall_us(),
          .synchronised = synchronised};
}

// One field holds the offset of a steady clock, or what belongs to a pending gap: they exclude each
// other.
std::string encode_clock_state(const ClockState& state) {
  const bool steady = state.steady_since_us >= 0;
  const int64_t last_us = steady ? state.steady_offset_us : state.held_before_us;
  std::string out;
  put_u8(out, ClockState::kVersion);
  put_bytes(out, state.boot_id);
  for (const int64_t us : {state.boot_us, state.wall_us, state.trusted_us, state.permitted_us,
                           state.believable_us, state.steady_since_us, last_us}) {
    put_u64(out, static_cast<uint64_t>(us));
  }
  return out;
}

Result<ClockState> decode_clock_state(Bytes encoded) {
  Reader in(encoded);
  TRY_VOID(check_version(in, ClockState::kVersion, "clock state"));
  ClockState state;
  state.boot_id = in.bytes();
  for (int64_t* us : {&state.boot_us, &state.wall_us, &state.trusted_us, &state.permitted_us,
                      &state.believable_us, &state.steady_since_us, &state.steady_offset_us}) {
    *us = static_cast<int64_t>(in.u64());
  }
  TRY_VOID(check_consumed(in, "clock state"));
  if (state.steady_since_us < 0) state.held_before_us = std::exchange(state.steady_offset_us, 0);
  return state;
}

ClockState first_state(const ClockReading& now, const ClockRules& rules) {
  return stated(now, now.wall_us, rules);
}

int64_t wait_after_boot_us(const ClockState& saved, const ClockReading& now) {
  if (same_boot(saved, now) || saved.permitted_us == INT64_MAX) return 0;
  const int64_t measured_us = saturating_sub(now.wall_us, held_before_us(saved));
  if (now.synchronised && measured_us >= saved.permitted_us) return 0;
  // For a boot without an id it is unknown whether it began after the anchor.
  const int64_t since_us = now.boot_id.empty() ? 0 : std::max<int64_t>(0, now.boot_us);
  const int64_t passed_us = since_us - drift_us(since_us);
  const int64_t permitted_us = saturating_sub(saved.permitted_us, saved.trusted_us);
  return std::max<int64_t>(0, saturating_sub(permitted_us, passed_us));
}

ClockState standing_state(const ClockState& saved, const ClockReading& now,
                          const ClockRules& rules) {
  ClockState state;
  if (same_boot(saved, now)) {
    const int64_t elapsed_us = now.boot_us - saved.boot_us;
    const int64_t bound_us = saturating_add(saved.trusted_us, with_drift_us(elapsed_us));
    state = stated(now, std::min(bound_us, saved.permitted_us), rules);
    carry_gap(saved, now, state);
    carry_steadiness(saved, now, rules, state);
  } else if (saved.permitted_us != INT64_MAX) {
    state = booted(saved, now, rules);
  } else {
    // Without a bound (tests) the anchor itself is the best estimate.
    state = state_after_start(saved, now, rules);
  }
  state.permitted_us = state.trusted_us;
  return state;
}

ClockState state_after_start(const ClockState& saved, const ClockReading& now,
                             const ClockRules& rules) {
  // A pending gap may have become credible meanwhile.
  const ClockState state =
      same_boot(saved, now) ? continued(saved, now, rules) : booted(saved, now, rules);
  return renewed(state, state.trusted_us, now, rules);
}

ClockState renewed(const ClockState& state, int64_t trusted_us, const ClockReading& now,
                   const ClockRules& rules) {
  trusted_us = std::max(trusted_us, state.trusted_us);
  ClockState next = stated(now, trusted_us, rules);
  carry_gap(state, now, next);
  if (now.synchronised && next.believable_us != 0) {
    const int64_t end_us = saturating_sub(now.wall_us, next.held_before_us);
    next = stated(now, std::max(trusted_us, std::min(end_us, next.believable_us)), rules);
  }
  if (next.steady_since_us < 0) return next;
  carry_steadiness(state, now, rules, next);
  const bool long_enough = now.boot_us - next.steady_since_us >= rules.release_after_us;
  return long_enough && now.wall_us > next.trusted_us ? released(next, now, rules) : next;
}

ClockState released(const ClockState& state, const ClockReading& now, const ClockRules& rules) {
  if (now.wall_us <= state.trusted_us) return renewed(state, state.trusted_us, now, rules);
  ClockState next = stated(now, now.wall_us, rules);
  carry_steadiness(state, now, rules, next);
  return next;
}

ClockAnchor anchor_of(const ClockState& state) {
  return {
      .trusted_us = state.trusted_us, .boot_us = state.boot_us, .permitted_us = state.permitted_us};
}

}  // namespace cellar::engine
