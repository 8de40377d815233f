#include "engine/balance/balancer.h"

#include <algorithm>

#include "engine/balance/decide.h"
#include "io/base/log.h"

namespace cellar::engine {
namespace {

constexpr ShardId kHere{0};

}  // namespace

Balancer::Balancer(Runtime runtime, Node& node, uint32_t shards, const BalanceOptions& options)
    : runtime_(runtime),
      node_(node),
      options_(options),
      book_(shards, options),
      timer_(
          runtime.timers, [](void* self) { static_cast<Balancer*>(self)->woken_.notify_all(); },
          this) {}

void Balancer::start() {
  if (!options_.enabled) return;
  running_ = true;
  spawn(runtime_.executor, run());
}

Async<void> Balancer::stop() {
  stopping_ = true;
  if (!running_) co_return;
  woken_.notify_all();
  co_await ended_.wait();
}

Async<void> Balancer::pause() {
  const auto tablets = static_cast<int64_t>(view_.tablets.size());
  timer_.arm_after_us(std::max(options_.interval_us, tablets * kLookUsPerTablet));
  co_await woken_.wait();
  timer_.cancel();
}

Async<void> Balancer::run() {
  while (!stopping_) {
    co_await pause();
    if (!stopping_) co_await round();
  }
  ended_.set();
}

Async<void> Balancer::round() {
  bool seen = co_await look(true);
  for (int i = 0; seen && i < kChangesPerRound && !stopping_; ++i) {
    const auto change = decide(view_, options_);
    if (!change) co_return;
    const bool done = co_await apply(*change);
    if (!done || stopping_) co_return;
    seen = co_await look(false);
  }
}

Async<bool> Balancer::look(bool measure) {
  auto figures = co_await node_.tablet_figures(kHere, TableId{});
  if (!figures) {
    if (can_look_) {
      log_warn("balance", "the tablets cannot be looked at error=\"{}\"",
               figures.error().to_string());
    }
    can_look_ = false;
    co_return false;
  }
  can_look_ = true;
  view_ = book_.look(std::move(*figures), runtime_.timers.now_us(), measure);
  co_return true;
}

Async<bool> Balancer::apply(Reshape change) {
  constexpr const char* kNames[] = {"split", "merge", "move"};
  const char* name = kNames[static_cast<size_t>(change.kind)];
  const int64_t began_us = runtime_.timers.now_us();
  const Result<void> done = co_await carry_out(change);
  const int64_t us = runtime_.timers.now_us() - began_us;
  if (done) {
    log_info("balance", "{} tablet={} to={} row=\"{}\" why={} us={}", name, change.tablet,
             change.to, escape_bytes(change.row), change.why, us);
    co_return true;
  }
  ++counters_.refused;
  book_.was_refused(change.tablet, runtime_.timers.now_us());
  log_info("balance", "{} tablet={} why={} refused=\"{}\" us={}", name, change.tablet, change.why,
           done.error().to_string(), us);
  co_return false;
}

Async<Result<void>> Balancer::carry_out(Reshape change) {
  Timers& timers = runtime_.timers;
  switch (change.kind) {
    case Reshape::Kind::split: {
      CO_TRY(const auto parts, co_await node_.split_tablet(kHere, change.tablet, change.row));
      book_.was_split(change.tablet, parts, timers.now_us());
      ++counters_.splits;
      break;
    }
    case Reshape::Kind::merge: {
      CO_TRY(const auto merged, co_await node_.merge_tablets(kHere, change.tablet, change.right));
      book_.was_merged(change.tablet, change.right, merged.id, timers.now_us());
      ++counters_.merges;
      break;
    }
    case Reshape::Kind::move: {
      CO_TRY(const auto moved, co_await node_.move_tablet(kHere, change.tablet, change.to));
      book_.was_moved(moved.id, timers.now_us());
      ++counters_.moves;
      break;
    }
  }
  co_return Result<void>{};
}

}  // namespace cellar::engine
