// Readiness: the node's state for health checks, proxies and service managers. One per process,
// created before and destroyed after everything of the node. It reports the worst state that holds,
// in this order:
//
//   starting   not every shard listens yet                  set by: Server, when all is open
//   broken     a shard's loop has not turned for long       ShardBeat, by not beating
//   draining   stopping, or accepts no new work             run_node on a signal; an operator
//   clock_lags trusted time lags too far, reads are refused ShardBeat of shard 0
//   read_only  a shard accepts no writes: its log or the    ShardBeat
//              manifest failed, or the disk was too full
//              at the start
//   disk_hung  the disk does not respond to a shard         ShardBeat
//   ready      none of these
//
// The states between draining and ready are conditions of a shard that beats. A new one needs an
// enumerator of Condition and of NodeState, a row of kConditions (readiness.cc), and a line where
// the shard's conditions are gathered (Server::start_beats).
//
// Broken precedes draining, so that a proxy that drains gracefully cuts connections that cannot end
// by themselves. An operator's drain can be reverted, a stop cannot.
//
// Thread-safe and non-blocking. A change on one thread may become visible on another slightly
// later.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/base/clock.h"
#include "io/loop/mailbox.h"
#include "io/loop/timers.h"

namespace cellar::server {

enum class NodeState : uint8_t {
  starting,
  ready,
  read_only,
  disk_hung,
  broken,
  draining,
  clock_lags
};
inline constexpr NodeState kNodeStates[] = {
    NodeState::starting, NodeState::ready,    NodeState::read_only, NodeState::disk_hung,
    NodeState::broken,   NodeState::draining, NodeState::clock_lags};

// "starting", "ready", "read-only", "disk-hung", "broken", "draining", "clock-lags".
std::string_view name_of(NodeState state);

// Conditions of a shard whose loop turns but that should get no work, worst first.
enum class Condition : uint8_t { clock_lags, read_only, disk_hung };
inline constexpr Condition kLastCondition = Condition::disk_hung;

class Conditions {
 public:
  constexpr Conditions() = default;
  explicit constexpr Conditions(uint8_t bits) : bits_(bits) {}
  constexpr Conditions& set(Condition condition, bool holds) {
    if (holds) bits_ = static_cast<uint8_t>(bits_ | bit(condition));
    return *this;
  }
  constexpr bool has(Condition condition) const { return (bits_ & bit(condition)) != 0; }
  constexpr uint8_t bits() const { return bits_; }

 private:
  static constexpr uint8_t bit(Condition condition) {
    return static_cast<uint8_t>(1u << static_cast<uint8_t>(condition));
  }
  uint8_t bits_ = 0;
};

class Readiness {
 public:
  // The beat interval; the silence after which a shard is stuck (alive, but /healthz fails), and
  // after which the node is broken.
  static constexpr int64_t kBeatUs = 500'000;
  static constexpr int64_t kStuckUs = 4'000'000;
  static constexpr int64_t kBrokenUs = 10'000'000;

  // `clock` must outlive this and advance by itself, even if tests stop the node's clock.
  explicit Readiness(const Clock& clock) : clock_(clock) {}
  Readiness(const Readiness&) = delete;
  Readiness& operator=(const Readiness&) = delete;

  // ---- setters ----
  // Every shard listens; from here on shards beat.
  void serve(uint32_t shards);
  // The node stops; its sessions get a goaway when the drain time is over.
  void stop() { stopping_ = true; }
  // The node was started read-only, for this reason. Call before serve().
  void start_read_only(std::string why) { read_only_start_ = std::move(why); }
  // An operator's drain; reversible.
  void drain(bool yes) { drained_ = yes; }
  void beat(ShardId shard, Conditions conditions);
  // Lag of trusted time due to a missing anchor; shard 0 sets it before it beats.
  void set_clock_lag(int64_t lag_us) { clock_lag_us_ = lag_us; }

  // ---- getters ----
  NodeState state() const;
  // The reason for the state and the lag of trusted time, a sentence without full stop.
  std::string reason() const;
  // A shard whose loop has not turned within kStuckUs; empty while the node starts.
  std::optional<ShardId> stuck_shard() const { return silent_for(kStuckUs); }
  bool stopping() const { return stopping_; }
  // The reason for a read-only start; empty if it was normal. REQUIRES: serve() was called.
  const std::string& read_only_start() const { return read_only_start_; }
  bool drained_by_operator() const { return drained_; }
  int64_t now_us() const { return clock_.boot_us(); }

 private:
  struct Beat {
    std::atomic<int64_t> at_us = 0;
    std::atomic<uint8_t> conditions = 0;
  };
  struct Found;
  std::optional<ShardId> silent_for(int64_t us) const;
  Found worst_condition() const;
  std::string cause() const;

  const Clock& clock_;
  const int64_t made_us_ = clock_.boot_us();
  std::string read_only_start_;
  std::atomic<uint32_t> shards_ = 0;  // 0: starting
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> drained_ = false;
  std::atomic<int64_t> clock_lag_us_ = 0;
  std::array<Beat, Mailbox::kMaxShards> beats_;
};

// Sends a shard's beats for its lifetime, on the shard's loop.
class ShardBeat {
 public:
  // Called at every beat.
  using Look = Conditions (*)(void* context);
  ShardBeat(Readiness& readiness, ShardId shard, Timers& timers, Look look, void* context);

 private:
  void beat();

  Readiness& readiness_;
  const ShardId shard_;
  const Look look_;
  void* const context_;
  Timer timer_;
};

}  // namespace cellar::server
