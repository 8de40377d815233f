// The log's line about a slow request: where its time went, whose it was. No key and no value.
#pragma once

#include <cstdint>
#include <string>

#include "net/server/slow_requests.h"

namespace cellar::server {

// key=value, one line: what log_slow_request() writes.
std::string slow_request_line(const SlowRequest& request, uint32_t shard);
// A warning of room "slow". The log holds back what repeats too often, so a node where everything
// is slow does not become slower by saying so.
void log_slow_request(const SlowRequest& request, uint32_t shard);

}  // namespace cellar::server
