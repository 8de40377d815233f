// DiskRoom: how much room the disk of a node has left, and what that lets in. When less is left
// than disk.reserve, requests that add data are refused, and the rest is for what makes room:
// deletes, flushes, merges, the manifest, the log of all of these.
//
// One for a node: set by its watch (disk_watch.h), read by every shard, possibly a look too late.
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
  // Deletes and merges make room no faster than this.
  static constexpr uint32_t kRetryMs = 1000;

  void saw(uint64_t free_bytes) { free_bytes_.store(free_bytes, std::memory_order_relaxed); }
  uint64_t free_bytes() const { return free_bytes_.load(std::memory_order_relaxed); }
  bool is_short(uint64_t reserve_bytes) const { return free_bytes() < reserve_bytes; }
  // RESOURCE_EXHAUSTED, not applied, while it is short. For what adds data.
  Result<void> admit(uint64_t reserve_bytes) const {
    if (!is_short(reserve_bytes)) [[likely]]
      return {};
    return refusal(reserve_bytes);
  }
  // The same for mutations of a row, of which deletes are always let in.
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
