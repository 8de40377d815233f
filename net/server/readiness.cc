#include "net/server/readiness.h"

#include <fmt/format.h>

namespace cellar::server {

std::string_view name_of(NodeState state) {
  switch (state) {
    case NodeState::starting:
      return "starting";
    case NodeState::ready:
      return "ready";
    case NodeState::read_only:
      return "read-only";
    case NodeState::broken:
      return "broken";
    case NodeState::draining:
      return "draining";
  }
  return "unknown";
}

void Readiness::serve(uint32_t shards) {
  const int64_t now_us = clock_.boot_us();
  for (uint32_t i = 0; i < shards; ++i) beats_[i].at_us = now_us;
  shards_ = shards;
}

void Readiness::beat(ShardId shard, bool takes_writes) {
  Beat& beat = beats_[shard.value()];
  beat.takes_writes.store(takes_writes, std::memory_order_relaxed);
  beat.at_us.store(clock_.boot_us(), std::memory_order_relaxed);
}

std::optional<ShardId> Readiness::silent_for(int64_t us) const {
  const int64_t now_us = clock_.boot_us();
  for (uint32_t i = 0; i < shards_; ++i) {
    if (now_us - beats_[i].at_us.load(std::memory_order_relaxed) > us) return ShardId{i};
  }
  return std::nullopt;
}

std::optional<ShardId> Readiness::read_only_shard() const {
  for (uint32_t i = 0; i < shards_; ++i) {
    if (!beats_[i].takes_writes.load(std::memory_order_relaxed)) return ShardId{i};
  }
  return std::nullopt;
}

NodeState Readiness::state() const {
  if (shards_ == 0) return stopping_ ? NodeState::draining : NodeState::starting;
  // What stops takes its shards apart, so that they beat no more.
  if (!stopping_ && silent_for(kBrokenUs)) return NodeState::broken;
  if (stopping_ || drained_) return NodeState::draining;
  return read_only_shard() ? NodeState::read_only : NodeState::ready;
}

std::string Readiness::reason() const {
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
      return fmt::format(
          "shard {} takes no writes because its log or the manifest failed; the node's log says "
          "why",
          read_only_shard().value_or(ShardId{0}));
    case NodeState::ready:
      break;
  }
  return "every shard serves";
}

ShardBeat::ShardBeat(Readiness& readiness, ShardId shard, Timers& timers, TakesWrites takes_writes,
                     void* context)
    : readiness_(readiness),
      shard_(shard),
      takes_writes_(takes_writes),
      context_(context),
      timer_(timers, [](void* self) { static_cast<ShardBeat*>(self)->ring(); }, this) {
  ring();
}

void ShardBeat::ring() {
  readiness_.beat(shard_, takes_writes_(context_));
  timer_.arm_after_us(Readiness::kBeatUs);
}

}  // namespace cellar::server
