// Moves the clock of a node that was built with clock control. A clock has two readings; README.md
// describes the effect of each step on them.
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
// Sets the wall clock only.
Result<void> set_node_wall_clock(const std::string& address, int64_t wall_us);
// Advances both clocks.
Result<void> advance_node_clock(const std::string& address, int64_t us);

}  // namespace cellar::cases
