// How a client behaves. Durations are microseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/model/types.h"

namespace cellar::client {

inline constexpr const char* kDefaultAddress = "127.0.0.1:7420";
inline constexpr size_t kMaxConnections = 64;
inline constexpr int64_t kNoDeadline = 0;
inline constexpr int64_t kDefaultDeadline = -1;  // the one in ClientOptions

struct ClientOptions {
  std::string address = kDefaultAddress;  // "HOST:PORT"
  size_t connections = 1;                 // 1 to kMaxConnections; requests of one row share one
  std::string client_name = "cellar-client";
  std::string client_id;  // identity of idempotency tokens, at most 64 bytes; empty: drawn

  int64_t connect_timeout_us = 5'000'000;    // for connecting and the hello together
  int64_t request_deadline_us = 10'000'000;  // of data operations; kNoDeadline: none
  int64_t admin_deadline_us = 300'000'000;   // of create, drop, flush, compact and the like

  // Requests wait and nothing has come for so long: the node is pinged. Nothing for as long again:
  // the connection is given up. So a scan, which has no deadline, does not wait for a dead machine.
  int64_t keepalive_us = 15'000'000;

  // What one connection carries: requests on the wire (the server may allow fewer), and behind them
  // a queue in this client. Past its bounds a request is refused with RESOURCE_EXHAUSTED.
  size_t max_in_flight = 128;
  size_t max_queued = 65'536;
  size_t max_queued_bytes = 256u << 20;

  // Pause before the next attempt to connect: doubles from min to max, each drawn from [1/2, 1].
  int64_t backoff_min_us = 10'000;
  int64_t backoff_max_us = 2'000'000;
  // false: an attempt that fails also fails the requests that wait for it (UNAVAILABLE, not
  // applied). true: they wait on until their deadline.
  bool wait_for_connection = false;
};

struct CallOptions {
  int64_t deadline_us = kDefaultDeadline;  // from the call; also told to the server
  std::optional<Durability> durability;    // of a write; absent: the table's
};

}  // namespace cellar::client
