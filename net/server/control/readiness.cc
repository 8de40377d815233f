#include "net/server/control/readiness.h"

#include <fmt/format.h>

#include "io/base/time_text.h"
#include "net/server/control/io_watch.h"

namespace cellar::server {
namespace {

struct ConditionRow {
  Condition condition;
  NodeState state;
  std::string (*reason)(ShardId shard);
};

// Worst first: the first condition that holds on any shard determines the node's state.
constexpr ConditionRow kConditions[] = {
    {Condition::clock_lags, NodeState::clock_lags,
     [](ShardId) {
       return std::string(
           "no anchor of the clock could be written, so reads are refused; the node's log says "
           "why");
     }},
    {Condition::read_only, NodeState::read_only,
     [](ShardId shard) {
       return fmt::format(
           "shard {} takes no writes because its log or the manifest failed; the node's log says "
           "why",
           shard);
     }},
    {Condition::disk_hung, NodeState::disk_hung,
     [](ShardId shard) {
       return fmt::format("the disk has not answered shard {} for {} s or longer", shard,
                          IoWatch::kHungUs / 1'000'000);
     }},
};

}  // namespace

// A condition that holds, and the first shard with it.
struct Readiness::Found {
  const ConditionRow* row = nullptr;  // null: none holds
  ShardId shard{0};
};

std::string_view name_of(NodeState state) {
  switch (state) {
    case NodeState::starting:
      return "starting";
    case NodeState::ready:
      return "ready";
    case NodeState::read_only:
      return "read-only";
    case NodeState::disk_hung:
      return "disk-hung";
    case NodeState::broken:
      return "broken";
    case NodeState::draining:
      return "draining";
    case NodeState::clock_lags:
      return "clock-lags";
  }
  return "unknown";
}

void Readiness::serve(uint32_t shards) {
  const int64_t now_us = clock_.boot_us();
  for (uint32_t i = 0; i < shards; ++i) beats_[i].at_us = now_us;
  shards_ = shards;
}

void Readiness::beat(ShardId shard, Conditions conditions) {
  Beat& beat = beats_[shard.value()];
  beat.conditions.store(conditions.bits(), std::memory_order_relaxed);
  beat.at_us.store(clock_.boot_us(), std::memory_order_relaxed);
}

std::optional<ShardId> Readiness::silent_for(int64_t us) const {
  const int64_t now_us = clock_.boot_us();
  for (uint32_t i = 0; i < shards_; ++i) {
    if (now_us - beats_[i].at_us.load(std::memory_order_relaxed) > us) return ShardId{i};
  }
  return std::nullopt;
}

Readiness::Found Readiness::worst_condition() const {
  for (const ConditionRow& row : kConditions) {
    for (uint32_t i = 0; i < shards_; ++i) {
      const Conditions held(beats_[i].conditions.load(std::memory_order_relaxed));
      if (held.has(row.condition)) return {&row, ShardId{i}};
    }
  }
  return {};
}

NodeState Readiness::state() const {
  if (shards_ == 0) return stopping_ ? NodeState::draining : NodeState::starting;
  // A stopping node ends its shards, so missing beats are normal.
  if (!stopping_ && silent_for(kBrokenUs)) return NodeState::broken;
  if (stopping_ || drained_) return NodeState::draining;
  const Found found = worst_condition();
  return found.row == nullptr ? NodeState::ready : found.row->state;
}

std::string Readiness::reason() const {
  const int64_t lag_us = clock_lag_us_ / 1000 * 1000;
  if (lag_us == 0) return cause();
  return fmt::format("{}; trusted time lags {} behind", cause(), duration_text(lag_us));
}

std::string Readiness::cause() const {
  // The state may change between two calls, so each case reads its condition again.
  switch (state()) {
    case NodeState::starting:
      return "the node opens its data and does not listen yet";
    case NodeState::broken: {
      const auto shard = silent_for(kBrokenUs);
      return fmt::format("the loop of shard {} has not turned for {} s", shard.value_or(ShardId{0}),
                         kBrokenUs / 1'000'000);
    }
    case NodeState::draining:
      return stopping_ ? "the node was told to stop" : "an operator drains the node";
    case NodeState::read_only:
      if (!read_only_start_.empty()) return read_only_start_;
      [[fallthrough]];
    case NodeState::disk_hung:
    case NodeState::clock_lags:
      if (const Found found = worst_condition(); found.row != nullptr) {
        return found.row->reason(found.shard);
      }
      break;
    case NodeState::ready:
      break;
  }
  return "every shard serves";
}

ShardBeat::ShardBeat(Readiness& readiness, ShardId shard, Timers& timers, Look look, void* context)
    : readiness_(readiness),
      shard_(shard),
      look_(look),
      context_(context),
      timer_(timers, [](void* self) { static_cast<ShardBeat*>(self)->beat(); }, this) {
  beat();
}

void ShardBeat::beat() {
  readiness_.beat(shard_, look_(context_));
  timer_.arm_after_us(Readiness::kBeatUs);
}

}  // namespace cellar::server
