// LogSink: where the batches of one log go. GroupCommit fills batches, decides when each is
// written, and answers appends in order; a sink makes a batch durable at its position. The local
// sink is segments in files (engine/store/log/log_segments.h).
//
// Positions are divided into segments of equal size, which the sink prepares ahead. A batch lies in
// one segment, behind its head.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "io/base/result.h"

namespace cellar::engine {

// One batch on its way. Owned by the caller, as its bytes; must stay in place until `done` has run.
struct SinkWrite {
  uint64_t position = 0;             // in the log; a multiple of 4 KiB, as the size
  std::span<const std::byte> bytes;  // aligned for direct I/O
  // Called from the loop, never inside submit(): the batch is durable, or `error` is set, and
  // nothing is known about its bytes.
  void (*done)(SinkWrite& write) = nullptr;
  std::optional<Error> error;
};

// Used on one shard.
class LogSink {
 public:
  virtual ~LogSink() = default;
  // Constant; multiples of 4 KiB. The head of each segment has no batch.
  virtual uint64_t segment_bytes() const = 0;
  virtual uint64_t segment_head_bytes() const = 0;
  // Whether batches of the segment may be submitted.
  virtual bool is_ready(uint64_t segment) const = 0;
  // Positions below this are in ready segments.
  virtual uint64_t ready_end() const = 0;
  // Why no further segment is ready; null if there is no failure. Attempts go on.
  virtual const Error* failure() const = 0;
  // `callback` is called from the loop whenever a segment becomes ready, or could not be prepared.
  virtual void on_ready(void (*callback)(void* context), void* context) = 0;
  // Batches come in order of their positions, at most kWritesInFlight at a time, and may become
  // durable in any order. REQUIRES: is_ready() of the batch's segment.
  virtual void submit(SinkWrite& write) = 0;
};

}  // namespace cellar::engine
