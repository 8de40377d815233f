// What may be set about the local log. Defaults are for production; tests shrink them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cellar::engine {

struct LogOptions {
  // A multiple of 4 KiB, at least 16 KiB.
  uint64_t segment_bytes = 64u << 20;
  // What one write carries at most. A multiple of 4 KiB.
  size_t batch_bytes = 512u << 10;
  // Appends are refused while more than this waits for the disk. One entry may exceed it.
  size_t max_pending_bytes = 16u << 20;
  // `periodic` appends are handed to the disk within this.
  int64_t periodic_interval_us = 100'000;
};

// Writes on their way to the disk at once. Measured: four give 2.5 times the throughput of one;
// more adds latency only.
inline constexpr size_t kWritesInFlight = 4;
// A closing mark goes out this long after the last write, well within the 100 ms promised.
inline constexpr int64_t kClosingMarkUs = 50'000;
// Segments kept ready ahead of the one in use.
inline constexpr uint64_t kSpareSegments = 1;
// While no segment can be prepared, appends leave this much of what is ready to marks and trims (or
// a quarter of a segment, if that is less).
inline constexpr uint64_t kControlReserveBytes = 64u << 10;
// How often preparing a segment is tried again after it failed (a full disk).
inline constexpr int64_t kPrepareRetryUs = 300'000;
// What a refused append is told.
inline constexpr uint32_t kOverloadRetryMs = 5;
inline constexpr uint32_t kNoSpaceRetryMs = 500;

}  // namespace cellar::engine
