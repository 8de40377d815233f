// ResidentWatch: keeps the resident memory of the process within memory.total; one for each shard.
//
// The engine's budget (engine/shard/memory_budget.h) counts what the engine holds. The process has
// more: freed memory that the allocator keeps, buffers of merges. The watch compares the resident
// size with a target, kTargetSixteenths of memory.total. The rest is for what comes between two
// looks. Above the target,
//
//   1. the allocator returns what it keeps, if the resident size has grown since it last did;
//   2. the shard withholds its part of the rest from the block cache, at most a step at a look.
//
// Below it, the shard lends it again, a kReturnShare-th of the room at a look, so that the cache
// does not swing.
//
//   memory.total 128 MiB, 2 shards; the target is 120 MiB:
//   resident 120   withheld 0
//   resident 145   collect() leaves 130; withheld 2, 4, 5 MiB of each shard
//   resident 110   withheld 4.7, 4.4, ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "io/loop/process_memory.h"
#include "io/loop/timers.h"

namespace cellar::server {

class ResidentWatch {
 public:
  static constexpr uint64_t kTargetSixteenths = 15;
  // Intervals of looks: above the target, above kNearSixteenths of memory.total, and below.
  static constexpr int64_t kOverUs = 5'000;
  static constexpr int64_t kNearUs = 10'000;
  static constexpr int64_t kFarUs = 100'000;
  static constexpr uint64_t kNearSixteenths = 8;
  // The growth after which the allocator collects again: a share of memory.total, but at most so
  // much, because a collection holds the loop.
  static constexpr uint64_t kGrowthShare = 64;
  static constexpr uint64_t kMostGrowthBytes = 32u << 20;
  // What all shards together withhold more at one look, a share of memory.total.
  static constexpr uint64_t kStepShare = 32;
  static constexpr uint64_t kReturnShare = 16;

  // Withholds that much instead of what was withheld before; returns what it could.
  using Withhold = std::function<size_t(size_t bytes)>;

  // On the shard's loop; all must outlive it. Looks until it is destroyed.
  ResidentWatch(Timers& timers, ProcessMemory& memory, uint64_t total_bytes, uint32_t shards,
                Withhold withhold);
  ResidentWatch(const ResidentWatch&) = delete;
  ResidentWatch& operator=(const ResidentWatch&) = delete;

  // Returns when to look again.
  int64_t look();
  size_t withheld_bytes() const { return withheld_bytes_; }

 private:
  void change(uint64_t resident_bytes);

  ProcessMemory& memory_;
  const uint64_t total_bytes_;
  const uint64_t target_bytes_;
  const uint32_t shards_;
  const Withhold withhold_;
  size_t withheld_bytes_ = 0;
  uint64_t collected_bytes_ = 0;  // the least resident size since the last collect()
  Timer timer_;
};

}  // namespace cellar::server
