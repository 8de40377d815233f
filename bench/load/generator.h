// The generator: connections that load a server, and their measurements.
//
// Closed loop (rate 0): every connection keeps `depth` requests in flight. Open loop: requests are
// due on a fixed schedule whatever the server does, and latency counts from the due time, so a
// stall shows in every request that it delayed (no coordinated omission).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/load/protocol.h"
#include "bench/load/recorder.h"
#include "bench/load/workload.h"
#include "io/base/result.h"
#include "io/net/socket_backend.h"
#include "net/client/api/options.h"

namespace cellar::bench {

inline constexpr uint32_t kMaxBacklog = 4096;    // open loop: requests in flight per connection
inline constexpr size_t kMaxErrors = 16;         // different messages that are counted apart
inline constexpr int64_t kDrainUs = 30'000'000;  // wait for answers after the end of the run

struct LoadOptions {
  std::string address;
  client::ClientOptions client;  // TLS and token
  uint32_t connections = 50;
  // Closed loop: requests in flight per connection. Open loop: those that may leave in one write if
  // several are due.
  uint32_t depth = 1;
  uint32_t threads = 1;
  SocketBackend sockets = SocketBackend::automatic;
  uint64_t operations = 0;  // in all, after the warm-up; 0: until duration_us
  int64_t duration_us = 10'000'000;
  int64_t warmup_us = 0;            // not counted
  double rate = 0;                  // requests a second in all; 0: closed loop
  int64_t max_late_us = 100;        // open loop: a request sent later than this is late
  int64_t interval_us = 1'000'000;  // of the timeline
  bool encodes = false;             // the intervals' histograms are kept in encoded form
  bool verify = false;              // the values that are read
  int server_pid = 0;               // of a server on this machine whose use is measured; 0: none
  uint64_t first_insert = 0;        // number of the first inserted row
  Workload workload;
};

// Use of a process: between two points in time, and at the second.
struct ProcessUse {
  double cpu_s = 0;
  uint64_t resident_bytes = 0;
  uint64_t peak_bytes = 0;
};

struct LoadResult {
  Slice operations;
  std::vector<Interval> intervals;
  uint64_t inserted_rows = 0;  // the number of the first row that does not exist
  uint64_t late_sends = 0;     // measured requests that the generator itself sent late
  Histogram lateness;          // of every measured request of an open loop, in nanoseconds
  int64_t elapsed_us = 0;
  double started_s = 0;  // Unix time at which measuring began
  std::string first_error;
  std::map<std::string, uint64_t> errors;  // by message; at most kMaxErrors and "others"
  uint64_t unanswered = 0;  // requests of broken connections, and failures of the warm-up
  uint64_t checked_values = 0;
  uint64_t wrong_values = 0;
  std::string first_wrong;
  bool has_server_use = false;
  ProcessUse server;
  ProcessUse generator;

  uint64_t completed() const;
  uint64_t failed() const;
  uint64_t missing() const;
  double per_second() const;
  // Why the figures must not be used; empty: they may be. The server's failures do not count.
  std::string invalid_reason(const LoadOptions& options) const;
};

// Called a few times a second, from another thread than those of the load.
struct Progress {
  uint64_t completed = 0;
  double elapsed_s = 0;  // since measuring began; negative during warm-up
  bool has_interval = false;
  Interval interval;  // the last one that ended
};

// Runs to the end; `progress` may be empty. Error: no connection, or the server lacks an operation.
Result<LoadResult> run_load(const LoadOptions& options,
                            const std::function<std::unique_ptr<Protocol>()>& make_protocol,
                            const std::function<void(const Progress&)>& progress);

}  // namespace cellar::bench
