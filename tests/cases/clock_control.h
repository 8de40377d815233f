// Moves the clock of a node that was built for it. Two readings, as the node sees them; see
// README.md for what each step means.
#pragma once

#include <cstdint>
#include <string>

#include "io/base/result.h"

namespace cellar::cases {

struct ClockReading {
  int64_t wall_us = 0;
  int64_t boot_us = 0;
};

// Sets both readings of the node at `address` ("HOST:PORT"); resumes when every shard sees them.
Result<void> set_node_clock(const std::string& address, const ClockReading& reading);
// The wall clock alone.
Result<void> set_node_wall_clock(const std::string& address, int64_t wall_us);
// Time passes.
Result<void> advance_node_clock(const std::string& address, int64_t us);

}  // namespace cellar::cases
