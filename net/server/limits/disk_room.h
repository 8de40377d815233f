// DiskRoom: admission by free disk space. If less than disk.reserve is left, requests that add data
// are refused; the reserve is for work that frees space: deletes, flushes, merges, the manifest and
// their log.
//
// One per node: written by the disk watch (disk_watch.h), read by every shard, possibly slightly
// late.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "engine/model/mutation.h"
#include "io/base/result.h"

namespace cellar::server {

class DiskRoom {
 public:
  static constexpr uint64_t kUnknown = UINT64_MAX;  // nothing is refused
  // Deletes and merges do not free space faster than this.
  static constexpr uint32_t kRetryMs = 1000;

  void saw(uint64_t free_bytes) { free_bytes_.store(free_bytes, std::memory_order_relaxed); }
  uint64_t free_bytes() const { return free_bytes_.load(std::memory_order_relaxed); }
  bool is_short(uint64_t reserve_bytes) const { return free_bytes() < reserve_bytes; }
  // For requests that add data: RESOURCE_EXHAUSTED, not applied, while space is short.
  Result<void> admit(uint64_t reserve_bytes) const {
    if (!is_short(reserve_bytes)) [[likely]]
      return {};
    return refusal(reserve_bytes);
  }
  // The same for the mutations of a row; deletes are always admitted.
  Result<void> admit(uint64_t reserve_bytes, std::span<const Mutation> mutations) const {
    if (!is_short(reserve_bytes)) [[likely]]
      return {};
    return adds(mutations) ? refusal(reserve_bytes) : Result<void>();
  }

 private:
  static bool adds(std::span<const Mutation> mutations);
  Result<void> refusal(uint64_t reserve_bytes) const;

  std::atomic<uint64_t> free_bytes_ = kUnknown;
};

}  // namespace cellar::server
