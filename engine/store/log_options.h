// Options of the local log. The defaults are for production; tests use smaller values.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cellar::engine {

struct LogOptions {
  // A multiple of 4 KiB, at least 16 KiB.
  uint64_t segment_bytes = 64u << 20;
  // Logs that share the disk, one per shard.
  uint32_t logs = 1;
  // Maximum size of one write. A multiple of 4 KiB.
  size_t batch_bytes = 512u << 10;
  // Appends are refused while more than this waits for the disk. A single entry may exceed it. The
  // engine lets new writes wait from a lower level on (engine/write/write_turns.h).
  size_t max_pending_bytes = 64u << 20;
  // `periodic` appends are written within this time.
  int64_t periodic_interval_us = 100'000;
};

// Concurrent writes, each of one batch: four give 2.5 times the bandwidth of one; more only add
// latency.
inline constexpr size_t kWritesInFlight = 4;
// Batches of at least this size use all of them. Smaller ones overlap as far as the device gains by
// it (write_depth.h), because the cost of a durable write hardly depends on its size: few large
// writes serve more commits per second than many small ones.
inline constexpr size_t kLargeBatchBytes = 64u << 10;
// A closing mark follows the last write after this time, well within the promised 100 ms.
inline constexpr int64_t kClosingMarkUs = 50'000;
// Segments prepared ahead of the one in use.
inline constexpr uint64_t kSpareSegments = 1;
// Trimmed segments kept for reuse, which avoids filling new ones with zeros.
inline constexpr uint64_t kKeptSegments = 4;
// A log started on a disk with little room has smaller segments (start_spare.h), but at least this
// size. If at least kAmpleSegmentBytes are available, the start spare is not used.
inline constexpr uint64_t kLeastSegmentBytes = 64u << 10;
inline constexpr uint64_t kAmpleSegmentBytes = 1u << 20;
// Space that a shard keeps allocated for the log of the next start, and the interval of attempts to
// allocate it.
inline constexpr uint64_t kStartSpareBytes = 1u << 20;
inline constexpr int64_t kStartSpareRetryUs = 10'000'000;
// While no segment can be prepared, appends leave this much of the prepared space (or a quarter of
// a segment, if less) to marks and trims.
inline constexpr uint64_t kControlReserveBytes = 64u << 10;
// Interval of attempts to prepare a segment after a failure (a full disk).
inline constexpr int64_t kPrepareRetryUs = 300'000;
// Size of the steps in which a segment is filled prematurely (GroupCommit::append_filler), and the
// wait if there is no next segment.
inline constexpr size_t kFillBytes = 256u << 10;
inline constexpr int64_t kFillWaitUs = 20'000;
// Retry hints of refused appends.
inline constexpr uint32_t kOverloadRetryMs = 5;
inline constexpr uint32_t kNoSpaceRetryMs = 500;

}  // namespace cellar::engine
