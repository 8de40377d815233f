#include "engine/clock_keeper.h"

#include <algorithm>
#include <utility>

#include "engine/manifest/states.h"
#include "io/base/check.h"
#include "io/base/log.h"

namespace cellar::engine {

ClockKeeper::ClockKeeper(const Runtime& runtime, ManifestStore& manifest, Clocks& clocks,
                         ClockRules rules, int64_t renew_us)
    : runtime_(runtime),
      manifest_(manifest),
      clocks_(clocks),
      rules_(rules),
      renew_us_(renew_us),
      timer_(runtime_.timers, &ClockKeeper::on_timer, this) {}

Async<Result<void>> ClockKeeper::start(std::optional<ClockState> saved, uint64_t version) {
  const ClockReading now = ClockReading::of(runtime_.clock.machine());
  version_ = version;
  ClockState state = saved ? state_after_start(*saved, now, rules_) : first_state(now, rules_);
  co_return co_await install(std::move(state));
}

Async<Result<void>> ClockKeeper::stand(const ClockState& saved) {
  const ClockReading now = ClockReading::of(runtime_.clock.machine());
  // Without a bound (tests) the anchor itself is the best that is known.
  const bool bounded = saved.permitted_us != INT64_MAX;
  state_ = bounded ? saved : state_after_start(saved, now, rules_);
  if (bounded) state_.trusted_us = saved.permitted_us;
  state_.boot_us = now.boot_us;
  co_return co_await clocks_.spread(anchor_of(state_));
}

void ClockKeeper::serve() {
  if (renew_us_ > 0) spawn(runtime_.executor, loop());
}

Async<void> ClockKeeper::stop() {
  stopping_ = true;
  wake_.notify_all();
  co_await running_.close();
}

Async<void> ClockKeeper::loop() {
  auto pass = running_.enter();
  while (pass && !stopping_) {
    timer_.arm_after_us(renew_us_);
    co_await wake_.wait();
    if (stopping_) break;
    auto done = co_await renew();
    if (!done && !failed_) {
      log_error("clock", "no new anchor, trusted time stops at {}: {}", state_.permitted_us,
                done.error().to_string());
    }
    failed_ = !done;
  }
  timer_.cancel();
}

Async<Result<ClockKeeper::Present>> ClockKeeper::present() {
  CO_TRY(const std::vector<ClockPoint> points, co_await clocks_.begin_lines());
  Present present{.machine = ClockReading::of(runtime_.clock.machine()),
                  .trusted_us = state_.trusted_us};
  for (const ClockPoint& point : points) {
    const int64_t line_us =
        point.trusted_us + with_drift_us(present.machine.boot_us - point.boot_us);
    present.trusted_us = std::max(present.trusted_us, line_us);
  }
  co_return present;
}

Async<Result<void>> ClockKeeper::renew() {
  AsyncMutex::Lock lock = co_await lock_.lock();
  CO_TRY(const Present now, co_await present());
  // The clocks' own readings may have been held up by the permission: what they would be.
  const int64_t bound_us = state_.trusted_us + with_drift_us(now.machine.boot_us - state_.boot_us);
  const int64_t trusted_us = std::max(now.trusted_us, std::min(now.machine.wall_us, bound_us));
  co_return co_await install(renewed(state_, trusted_us, now.machine, rules_));
}

Async<Result<ClockReport>> ClockKeeper::release() {
  AsyncMutex::Lock lock = co_await lock_.lock();
  CO_TRY(const Present now, co_await present());
  ClockState state = state_;
  state.trusted_us = now.trusted_us;
  log_warn("clock", "held time released by an operator us={}",
           now.machine.wall_us - state.trusted_us);
  CO_TRY_VOID(co_await install(released(state, now.machine, rules_)));
  co_return report();
}

Async<Result<void>> ClockKeeper::install(ClockState state) {
  CHECK(state.trusted_us >= state_.trusted_us, "an anchor at {} after one at {}", state.trusted_us,
        state_.trusted_us);
  std::vector<SubjectEdit> edits;
  edits.push_back(put_state(kClockSubject, version_, encode_clock_state(state)));
  CO_TRY(const auto versions, co_await manifest_.commit(std::move(edits)));
  version_ = versions.front();
  const ClockState before = std::exchange(state_, std::move(state));
  CO_TRY_VOID(co_await clocks_.spread(anchor_of(state_)));
  tell(before);
  co_return Result<void>{};
}

// Says in the log when held time begins and ends.
void ClockKeeper::tell(const ClockState& before) const {
  const int64_t was_us = before.wall_us - before.trusted_us;
  const int64_t is_us = state_.wall_us - state_.trusted_us;
  if (was_us <= kSlackUs && is_us > kSlackUs) {
    log_warn("clock",
             "the wall clock is ahead of what can be trusted: {} us are held, and what would die "
             "by them lives on; `cellar clock confirm` releases them",
             is_us);
  } else if (was_us > kSlackUs && is_us <= kSlackUs) {
    log_info("clock", "no time is held any more");
  }
}

ClockReport ClockKeeper::report() const {
  const ClockReading now = ClockReading::of(runtime_.clock.machine());
  ClockReport report;
  report.trusted_us = runtime_.clock.now_us();
  report.wall_us = now.wall_us;
  report.held_us = std::max<int64_t>(0, now.wall_us - report.trusted_us);
  if (report.held_us <= kSlackUs) report.held_us = 0;
  report.synchronised = now.synchronised;
  report.steady_us = state_.steady_since_us < 0 ? 0 : now.boot_us - state_.steady_since_us;
  report.release_after_us = rules_.release_after_us;
  return report;
}

}  // namespace cellar::engine
