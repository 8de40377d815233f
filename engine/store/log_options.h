// What may be set about the local log. Defaults are for production; tests shrink them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cellar::engine {

struct LogOptions {
  // A multiple of 4 KiB, at least 16 KiB.
  uint64_t segment_bytes = 64u << 20;
  // Logs, one a shard, that share the disk.
  uint32_t logs = 1;
  // What one write carries at most. A multiple of 4 KiB.
  size_t batch_bytes = 512u << 10;
  // Appends are refused while more than this waits for the disk. One entry may exceed it.
  size_t max_pending_bytes = 16u << 20;
  // `periodic` appends are handed to the disk within this.
  int64_t periodic_interval_us = 100'000;
};

// Writes on their way to the disk at once, while there is so much to write that each carries
// kLargeBatchBytes at least: four give 2.5 times the bandwidth of one, more adds latency only.
inline constexpr size_t kWritesInFlight = 4;
// With less to write there is one write at a time: what comes meanwhile shares the next. A durable
// write costs about the same whatever it carries, so few that carry much serve more commits a
// second than many that carry little, and at no later time: each is done sooner.
inline constexpr size_t kLargeBatchBytes = 64u << 10;
// A closing mark goes out this long after the last write, well within the 100 ms promised.
inline constexpr int64_t kClosingMarkUs = 50'000;
// Segments kept ready ahead of the one in use.
inline constexpr uint64_t kSpareSegments = 1;
// Trimmed segments that are kept for use as the next ones, which spares filling those with zeros.
inline constexpr uint64_t kKeptSegments = 4;
// A log that begins on a disk with little room has smaller segments (start_spare.h), but not less
// than this; where this many bytes are to be had, the spare of the start is not touched.
inline constexpr uint64_t kLeastSegmentBytes = 64u << 10;
inline constexpr uint64_t kAmpleSegmentBytes = 1u << 20;
// What a shard keeps allocated for the log of the next start, and how often it is tried to get it.
inline constexpr uint64_t kStartSpareBytes = 1u << 20;
inline constexpr int64_t kStartSpareRetryUs = 10'000'000;
// While no segment can be prepared, appends leave this much of what is ready to marks and trims (or
// a quarter of a segment, if that is less).
inline constexpr uint64_t kControlReserveBytes = 64u << 10;
// How often preparing a segment is tried again after it failed (a full disk).
inline constexpr int64_t kPrepareRetryUs = 300'000;
// A segment that is filled up before its time takes so much at once (GroupCommit::append_filler),
// and where there is no next segment yet, filling waits for one.
inline constexpr size_t kFillBytes = 256u << 10;
inline constexpr int64_t kFillWaitUs = 20'000;
// What a refused append is told.
inline constexpr uint32_t kOverloadRetryMs = 5;
inline constexpr uint32_t kNoSpaceRetryMs = 500;

}  // namespace cellar::engine
