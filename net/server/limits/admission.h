// Admission: the load limits of a shard. Every limit has a name here. A refusal costs less than a
// microsecond, is RESOURCE_EXHAUSTED and has a retry delay.
#pragma once

#include <cstddef>
#include <cstdint>

#include "io/base/result.h"

namespace cellar::server {

// Limits of one connection.
inline constexpr size_t kMaxPendingReplyBytes = 1u << 20;  // reading stops above this
inline constexpr size_t kFlushBytes = 64 * 1024;           // written before the turn ends
inline constexpr int kMaxMalformedBodies = 3;              // the last one closes the connection
inline constexpr uint32_t kRetryAfterMs = 20;
inline constexpr uint32_t kFrameRetryAfterMs = 100;  // for a frame that found no memory

// Counters of one shard. Single-threaded.
class Admission {
 public:
  static constexpr uint32_t kMaxScans = 256;           // concurrent chunk streams
  static constexpr size_t kMaxHeldBytes = 256u << 20;  // request bodies kept after their read
  static constexpr size_t kMaxPendingReplyBytesTotal = 64u << 20;

  explicit Admission(uint32_t max_connections) : max_connections_(max_connections) {}

  bool enter_connection() {
    if (connections_ >= max_connections_) return false;
    ++connections_;
    return true;
  }
  void leave_connection() { --connections_; }
  // Existing connections above the limit stay.
  void set_max_connections(uint32_t connections) { max_connections_ = connections; }

  Result<void> begin_scan();
  void end_scan() { --scans_; }

  // Reserves memory for a body that outlives its receive buffer.
  Result<void> hold_bytes(size_t n);
  void release_bytes(size_t n) { held_bytes_ -= n; }

  void pending_reply_bytes(ptrdiff_t change) {
    pending_reply_bytes_ =
        static_cast<size_t>(static_cast<ptrdiff_t>(pending_reply_bytes_) + change);
  }
  // Refuses reads while replies wait for clients.
  Result<void> check_replies() const;

  uint32_t connections() const { return connections_; }
  uint32_t scans() const { return scans_; }
  size_t held_bytes() const { return held_bytes_; }
  size_t pending_reply_bytes() const { return pending_reply_bytes_; }

 private:
  uint32_t max_connections_;
  uint32_t connections_ = 0;
  uint32_t scans_ = 0;
  size_t held_bytes_ = 0;
  size_t pending_reply_bytes_ = 0;
};

}  // namespace cellar::server
