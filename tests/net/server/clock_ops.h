// The operations that `cellard_testclock` has beside those of the protocol: they move its clock,
// which stands still otherwise. Requests like any other, after the hello; the body is plain
// little-endian numbers, no FlatBuffers; the answer is a reply without a body (or a Status), sent
// when every shard that looks at the clock sees the new reading.
#pragma once

#include <cstdint>

namespace cellar::tests {

enum class ClockOp : uint16_t {
  advance = 0xff01,   // body: i64 us. Time passes: wall clock and boot-time clock move together
  set_wall = 0xff02,  // body: i64 wall_us. Only the wall clock jumps
  set_both = 0xff03,  // body: i64 wall_us, i64 boot_us
};

}  // namespace cellar::tests
