#include "engine/node/clock_keeper.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "engine/manifest/states.h"
#include "io/base/check.h"
#include "io/base/log.h"
#include "io/base/saturating.h"

namespace cellar::engine {

ClockKeeper::ClockKeeper(const Runtime& runtime, ManifestStore& manifest, Clocks& clocks,
                         ClockRules rules, int64_t renew_us)
    : runtime_(runtime),
      manifest_(manifest),
      clocks_(clocks),
      rules_(rules),
      renew_us_(renew_us),
      timer_(runtime_.timers, &ClockKeeper::on_timer, this),
      patience_(runtime_.timers, &ClockKeeper::on_late, this) {}

// ---- a start

Async<Result<void>> ClockKeeper::start(std::optional<ClockState> saved, uint64_t version) {
  if (saved) co_await wait_after_boot(*saved);
  const ClockReading now = ClockReading::of(runtime_.clock.machine());
  version_ = version;
  ClockState state = saved ? state_after_start(*saved, now, rules_) : first_state(now, rules_);
  co_return co_await install(std::move(state));
}

Async<Result<void>> ClockKeeper::stand(const ClockState& saved) {
  co_await wait_after_boot(saved);
  state_ = standing_state(saved, ClockReading::of(runtime_.clock.machine()), rules_);
  stands_ = missing_ = true;
  co_return co_await clocks_.spread(anchor_of(state_));
}

Async<void> ClockKeeper::wait_after_boot(const ClockState& saved) {
  const ClockReading now = ClockReading::of(runtime_.clock.machine());
  const int64_t left_us = wait_after_boot_us(saved, now);
  if (left_us == 0) co_return;
  const int64_t wait_us = std::min(left_us, kMaxStartWaitUs);
  log_info("clock",
           "the machine has been booted anew: the start waits us={} until real time is surely "
           "where an earlier answer may have been given",
           wait_us);
  if (wait_us < left_us) {
    log_warn("clock", "the anchor permits {} us more than that: cells may die early by as much",
             left_us - wait_us);
  }
  co_await sleep_us(runtime_.timers, wait_us);
}

// ---- renewals

void ClockKeeper::serve() {
  tried_us_ = runtime_.timers.now_us();  // start() has written an anchor
  serving_ = renew_us_ > 0;
  if (serving_) spawn(runtime_.executor, loop());
}

Async<void> ClockKeeper::stop() {
  stopping_ = true;
  wake_.notify_all();
  moved_.notify_all();
  co_await running_.close();
  // A failure is logged; then the next start knows less.
  if (std::exchange(serving_, false) && held_time_changed()) (void)co_await renew();
}

void ClockKeeper::asked() {
  if (std::exchange(asked_, true) || stopping_ || renew_us_ == 0) return;
  timer_.arm_after_us(until_next_us());
}

int64_t ClockKeeper::until_next_us() const {
  const int64_t every_us = asked_ || missing_ ? renew_us_ : kIdleUs;
  return std::max<int64_t>(0, tried_us_ + every_us - runtime_.timers.now_us());
}

bool ClockKeeper::held_time_changed() const {
  const ClockReading now = ClockReading::of(runtime_.clock.machine());
  const auto held_us = [](const ClockState& state) {
    return std::max<int64_t>(0, saturating_sub(state.wall_us, state.trusted_us));
  };
  const int64_t elapsed_us = now.boot_us - state_.boot_us;
  const int64_t drift_us = with_drift_us(elapsed_us) - elapsed_us;
  const int64_t more_us = held_us(expected(now)) - held_us(state_);
  return std::abs(more_us) > kSlackUs + drift_us;
}

Async<void> ClockKeeper::loop() {
  auto pass = running_.enter();
  // It fails only for a shard that does not exist any more.
  (void)co_await clocks_.listen(true);
  while (pass && !stopping_) {
    timer_.arm_after_us(std::min(until_next_us(), kLookUs));
    co_await wake_.wait();
    if (!stopping_ && (until_next_us() == 0 || held_time_changed())) (void)co_await renew();
  }
  timer_.cancel();
  patience_.cancel();
  (void)co_await clocks_.listen(false);
}

Async<int64_t> ClockKeeper::catch_up() {
  while (renew_us_ > 0 && !missing_ && !stopping_ && runtime_.clock.stands()) {
    asked();
    co_await moved_.wait();
  }
  co_return lag_us();
}

void ClockKeeper::begin_renewal() {
  tried_us_ = runtime_.timers.now_us();
  patience_.arm_after_us(kPatienceUs);
}

void ClockKeeper::end_renewal(const Result<void>& done) {
  patience_.cancel();
  if (done) {
    if (told_) log_info("clock", "anchors are written again, trusted time goes on");
    missing_ = told_ = false;
    told_us_ = 0;
  } else {
    tried_us_ = runtime_.timers.now_us();
    missing_ = true;
    if (!std::exchange(told_, true)) {
      log_error("clock", "no new anchor, trusted time stops at {}: {}", state_.permitted_us,
                done.error().to_string());
    }
    tell_lag();
  }
  moved_.notify_all();
}

// The renewal in progress has exceeded kPatienceUs: requests stop waiting for it.
void ClockKeeper::late() {
  missing_ = true;
  patience_.arm_after_us(kPatienceUs);
  tell_lag();
  moved_.notify_all();
}

void ClockKeeper::tell_lag() {
  const int64_t lag = lag_us();
  const int64_t now_us = runtime_.timers.now_us();
  if (lag == 0 || (told_us_ != 0 && now_us - told_us_ < kTellUs)) return;
  // Logged again when reads are refused, or a minute later.
  if (lag <= kMaxLagUs && told_) return;
  told_ = true;
  if (lag > kMaxLagUs) told_us_ = now_us;
  log_error("clock", "no anchor is durable, trusted time stands{} at={} lag_us={}",
            lag > kMaxLagUs ? ", the node is not ready and refuses reads" : "", state_.permitted_us,
            lag);
}

int64_t ClockKeeper::bound_us(const ClockReading& now) const {
  return saturating_add(state_.trusted_us, with_drift_us(now.boot_us - state_.boot_us));
}

ClockState ClockKeeper::expected(const ClockReading& now) const {
  const int64_t trusted_us =
      std::max(runtime_.clock.now_us(), std::min(now.wall_us, bound_us(now)));
  return renewed(state_, trusted_us, now, rules_);
}

int64_t ClockKeeper::lag_us() const {
  if (!missing_) return 0;
  const ClockReading now = ClockReading::of(runtime_.clock.machine());
  return expected(now).trusted_us - runtime_.clock.now_us();
}

Async<Result<ClockKeeper::Present>> ClockKeeper::present() {
  CO_TRY(const std::vector<ClockPoint> points, co_await clocks_.begin_lines());
  Present present{.machine = ClockReading::of(runtime_.clock.machine()),
                  .trusted_us = state_.trusted_us};
  for (const ClockPoint& point : points) {
    const int64_t line_us =
        saturating_add(point.trusted_us, with_drift_us(present.machine.boot_us - point.boot_us));
    present.trusted_us = std::max(present.trusted_us, line_us);
  }
  co_return present;
}

Async<Result<void>> ClockKeeper::renew() {
  const AsyncMutex::Lock lock = co_await lock_.lock();
  begin_renewal();
  const Result<void> done = co_await renew_here();
  end_renewal(done);
  co_return done;
}

Async<Result<void>> ClockKeeper::renew_here() {
  CO_TRY(const Present now, co_await present());
  // The permission may limit the clocks' own readings: the bound without it.
  const int64_t trusted_us =
      std::max(now.trusted_us, std::min(now.machine.wall_us, bound_us(now.machine)));
  co_return co_await install(renewed(state_, trusted_us, now.machine, rules_));
}

Async<Result<ClockReport>> ClockKeeper::release() {
  const AsyncMutex::Lock lock = co_await lock_.lock();
  begin_renewal();
  const Result<void> done = co_await release_here();
  end_renewal(done);
  if (!done) co_return std::unexpected(done.error());
  co_return report();
}

Async<Result<void>> ClockKeeper::release_here() {
  CO_TRY(const Present now, co_await present());
  ClockState state = state_;
  state.trusted_us = now.trusted_us;
  log_warn("clock", "held time released by an operator us={}",
           saturating_sub(now.machine.wall_us, state.trusted_us));
  co_return co_await install(released(state, now.machine, rules_));
}

Async<Result<void>> ClockKeeper::install(ClockState state) {
  CHECK(state.trusted_us >= state_.trusted_us, "an anchor at {} after one at {}", state.trusted_us,
        state_.trusted_us);
  CatalogEdit edit(put_state(kClockKey, version_, encode_clock_state(state)));
  CO_TRY(const auto versions, co_await manifest_.commit(std::move(edit)));
  version_ = versions.front();
  const ClockState before = std::exchange(state_, std::move(state));
  asked_ = false;  // later requests ask a clock that has the anchor
  CO_TRY_VOID(co_await clocks_.spread(anchor_of(state_)));
  tell(before);
  co_return Result<void>{};
}

// Logs when held time begins and ends.
void ClockKeeper::tell(const ClockState& before) const {
  const int64_t was_us = saturating_sub(before.wall_us, before.trusted_us);
  const int64_t is_us = saturating_sub(state_.wall_us, state_.trusted_us);
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
  // Where an anchor can be written, requests wait for it and get this time.
  const ClockState next = expected(now);
  report.trusted_us = missing_ || renew_us_ == 0 ? runtime_.clock.now_us() : next.trusted_us;
  report.wall_us = now.wall_us;
  report.held_us = std::max<int64_t>(0, saturating_sub(now.wall_us, next.trusted_us));
  report.lag_us = lag_us();
  report.stands = stands_;
  if (report.held_us <= kSlackUs) report.held_us = 0;
  report.synchronised = now.synchronised;
  report.steady_us = next.steady_since_us < 0 ? 0 : now.boot_us - next.steady_since_us;
  report.release_after_us = rules_.release_after_us;
  return report;
}

}  // namespace cellar::engine
