// The generator: connections that load a server, and their measurements.
//
// Closed loop (rate 0): every connection keeps `depth` requests in flight. Open loop: requests are
// due on a fixed schedule whatever the server does, and latency counts from the due time, so a
// stall shows in every request that it delayed (no coordinated omission).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/load/protocol.h"
#include "bench/load/workload.h"
#include "io/base/histogram.h"
#include "io/base/result.h"
#include "net/client/api/options.h"

namespace cellar::bench {

struct LoadOptions {
  std::string address;
  client::ClientOptions client;  // TLS and token
  uint32_t connections = 50;
  uint32_t depth =
      1;  // requests in flight per connection; the bound of the backlog in open loop is kMaxBacklog
  uint32_t threads = 1;
  uint64_t operations = 0;  // in all; 0: until duration_us
  int64_t duration_us = 10'000'000;
  int64_t warmup_us = 0;  // not counted
  double rate = 0;        // requests a second in all; 0: closed loop
  Workload workload;
};

inline constexpr uint32_t kMaxBacklog = 4096;
inline constexpr int64_t kConnectTimeoutUs = 5'000'000;

struct LoadResult {
  uint64_t completed = 0;
  uint64_t failed = 0;
  uint64_t late_sends = 0;  // open loop: sent more than 1 ms late because of the generator itself
  int64_t elapsed_us = 0;
  std::string first_error;
  Histogram latency_us;  // of completed requests, in microseconds
  double per_second() const {
    return elapsed_us == 0 ? 0
                           : static_cast<double>(completed) * 1e6 / static_cast<double>(elapsed_us);
  }
};

// Runs to the end; `progress` (may be empty) is called about once a second with the number of
// completed operations. Error: no connection.
Result<LoadResult> run_load(const LoadOptions& options,
                            const std::function<std::unique_ptr<Protocol>()>& make_protocol,
                            const std::function<void(uint64_t)>& progress);

}  // namespace cellar::bench
