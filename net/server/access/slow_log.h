// The log's line about a slow request: where its time went, whose it was. No key and no value.
#pragma once

#include <cstdint>

#include "net/server/limits/slow_requests.h"

namespace cellar::server {

// A warning of room "slow". The log holds back what repeats too often, so a node where everything
// is slow does not become slower by saying so.
void log_slow_request(const SlowRequest& request, uint32_t shard);

}  // namespace cellar::server
