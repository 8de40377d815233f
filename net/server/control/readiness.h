// Readiness: what a node is to those outside who decide whether to send it work: health checks,
// proxies, service managers. One for a process, made before anything of the node is, destroyed
// after all of it. Whoever asks is told the worst of what holds, in this order:
//
//   starting   not every shard listens yet                  Server, when it has opened everything
//   broken     a shard's loop has not turned for long       ShardBeat, by staying away
//   draining   it was told to stop, or to take no new work  run_node on a signal; an operator
//   clock_lags trusted time lags too far behind, reads are  ShardBeat of shard 0
//              refused
//   read_only  a shard takes no writes: its log or the      ShardBeat
//              manifest failed, or the disk had no room
//              for the start
//   disk_hung  the disk does not answer a shard             ShardBeat
//   ready      none of that
//
// The states between draining and ready are conditions of a shard that beats. To add one: an
// enumerator of Condition and of NodeState, a row of kConditions (readiness.cc), and a line where
// the shard's conditions are gathered (Server::start_beats).
//
// Broken comes before draining, so that a proxy that drains softly cuts what will not end by
// itself. A drain that an operator asked for can be taken back; a stop cannot.
//
// Any thread may set and ask; nothing here waits. What was set a moment ago on another thread may
// be seen a moment later.
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

// What keeps work away from a shard whose loop turns, worst first.
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
  // How often a shard beats; when one that does not is called stuck (it is alive, /healthz says no)
  // and when the node is broken.
  static constexpr int64_t kBeatUs = 500'000;
  static constexpr int64_t kStuckUs = 4'000'000;
  static constexpr int64_t kBrokenUs = 10'000'000;

  // `clock` must go on by itself, whatever tests do to the node's; it outlives this.
  explicit Readiness(const Clock& clock) : clock_(clock) {}
  Readiness(const Readiness&) = delete;
  Readiness& operator=(const Readiness&) = delete;

  // ---- set ----
  // Every shard listens. From here on they beat.
  void serve(uint32_t shards);
  // It will end; its sessions are told to go once the drain's time is over.
  void stop() { stopping_ = true; }
  // It was started read-only, and why. Before serve().
  void start_read_only(std::string why) { read_only_start_ = std::move(why); }
  // An operator's wish: nothing new should come, until it is taken back.
  void drain(bool yes) { drained_ = yes; }
  void beat(ShardId shard, Conditions conditions);
  // How far trusted time lags because an anchor is missing; shard 0 says so before it beats.
  void set_clock_lag(int64_t lag_us) { clock_lag_us_ = lag_us; }

  // ---- asked ----
  NodeState state() const;
  // Why it is in that state, and by how much trusted time lags, a sentence without a full stop.
  std::string reason() const;
  // A shard whose loop has not turned within kStuckUs; none while the node starts.
  std::optional<ShardId> stuck_shard() const { return silent_for(kStuckUs); }
  bool stopping() const { return stopping_; }
  // Why it was started read-only; empty: it was not. REQUIRES: serve() was called.
  const std::string& read_only_start() const { return read_only_start_; }
  bool drained_by_operator() const { return drained_; }
  int64_t made_us() const { return made_us_; }
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
  std::atomic<uint32_t> shards_ = 0;  // 0: it starts
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> drained_ = false;
  std::atomic<int64_t> clock_lag_us_ = 0;
  std::array<Beat, Mailbox::kMaxShards> beats_;
};

// Lets a shard beat for as long as it lives, on the shard's loop.
class ShardBeat {
 public:
  // Asked at every beat.
  using Look = Conditions (*)(void* context);
  ShardBeat(Readiness& readiness, ShardId shard, Timers& timers, Look look, void* context);

 private:
  void ring();

  Readiness& readiness_;
  const ShardId shard_;
  const Look look_;
  void* const context_;
  Timer timer_;
};

}  // namespace cellar::server
