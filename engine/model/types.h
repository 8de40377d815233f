// Basic types of the engine: distinct id types, and time.
#pragma once

#include <cstdint>

#include "io/base/strong.h"

namespace cellar {

using TableId = Strong<struct TableIdTag, uint64_t>;    // never reused
using TabletId = Strong<struct TabletIdTag, uint64_t>;  // never reused; 0 means "not said"
// Ownership of a tablet; incremented when it moves, splits or is taken over. 0 means "not said".
using Epoch = Strong<struct EpochTag, uint64_t>;
// Session of a data directory: incremented at every start before anything else is written, and when
// a shard has used half of its blob ids. Never reused.
using SessionEpoch = Strong<struct SessionEpochTag, uint32_t>;
// Identifies a log: session << 16 | shard. Increases over sessions, so the logs of one shard number
// are ordered by id.
using LogId = Strong<struct LogIdTag, uint64_t>;
// Identifies a blob (an SSTable); see make_blob_id. Unique over the life of the directory.
using BlobId = Strong<struct BlobIdTag, uint64_t>;

// Nanoseconds on the trusted clock, strictly increasing within a tablet (SEMANTICS 1). 0 means
// "before everything".
using CommitStamp = Strong<struct CommitStampTag, uint64_t>;
inline constexpr CommitStamp kMaxStamp{UINT64_MAX};

// A time on the clock that never comes.
inline constexpr int64_t kNeverUs = INT64_MAX;

// Cell timestamps are int64_t microseconds, never negative.
inline constexpr int64_t kMaxTimestampUs = INT64_MAX;

constexpr LogId make_log_id(SessionEpoch session, uint32_t shard) {
  return LogId{static_cast<uint64_t>(session.value()) << 16 | shard};
}
// Ids that one session has per shard.
inline constexpr uint32_t kBlobIdsPerSession = 1u << 24;
// REQUIRES: `counter` below kBlobIdsPerSession; shards below 2^10; sessions below 2^30.
constexpr BlobId make_blob_id(SessionEpoch session, uint32_t shard, uint32_t counter) {
  return BlobId{static_cast<uint64_t>(session.value()) << 34 | static_cast<uint64_t>(shard) << 24 |
                counter};
}

// When a write is acknowledged (SEMANTICS 2). Numbers are on disk and on the wire.
enum class Durability : uint8_t {
  sync = 0,      // on disk before the answer
  periodic = 1,  // on disk within the configured interval
  memory = 2,    // on disk eventually
};

// The required multiple of a table's timestamps. Numbers are on disk and on the wire.
enum class Granularity : uint8_t { millis = 0, micros = 1 };
constexpr int64_t granule_us(Granularity g) { return g == Granularity::millis ? 1000 : 1; }

}  // namespace cellar
