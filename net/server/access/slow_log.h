// The log line of a slow request: its stages and client. Contains no keys or values.
#pragma once

#include <cstdint>

#include "net/server/limits/slow_requests.h"

namespace cellar::server {

// Logs a warning of room "slow". The log suppresses repeats, so an overloaded node is not slowed
// down further.
void log_slow_request(const SlowRequest& request, uint32_t shard);

}  // namespace cellar::server
