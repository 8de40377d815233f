// Additional operations of `cellard_testclock`: they move its clock, which otherwise stands. They
// are ordinary requests after the hello; the body is plain little-endian numbers without
// FlatBuffers; the answer is a reply without a body (or a Status), sent when every shard that uses
// the clock sees the new reading.
#pragma once

#include <cstdint>

namespace cellar::tests {

enum class ClockOp : uint16_t {
  advance = 0xf1,   // body: i64 us. Advances wall clock and boot-time clock together
  set_wall = 0xf2,  // body: i64 wall_us. Moves only the wall clock
  set_both = 0xf3,  // body: i64 wall_us, i64 boot_us
};

}  // namespace cellar::tests
