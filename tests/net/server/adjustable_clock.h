// A clock that stands until an operation moves it over the wire (clock_ops.h): of
// `cellard_testclock`, and of nodes in a test's own process. It may also run, from a moment of the
// machine's monotonic clock at which it read its initial value.
#pragma once

#include "io/base/coding.h"
#include "io/base/result.h"
#include "net/sandbox/movable_clock.h"
#include "tests/net/server/clock_ops.h"

namespace cellar::tests {

class AdjustableClock final : public sandbox::MovableClock {
 public:
  AdjustableClock(int64_t wall_us, int64_t boot_us) : MovableClock(wall_us, boot_us, "testclock") {}
  void set_synchronised(bool yes) { synchronised_ = yes; }
  bool synchronised() const override { return synchronised_; }

  Result<void> move(ClockOp op, Bytes body) {
    const bool two = op == ClockOp::set_both;
    if (body.size() != (two ? 16 : 8)) {
      return fail(Errc::invalid_argument, "clock operation {} with {} bytes",
                  static_cast<uint16_t>(op), body.size());
    }
    const auto first = load_le<int64_t>(body.data());
    switch (op) {
      case ClockOp::advance:
        if (first < 0) return fail(Errc::invalid_argument, "time does not pass backwards");
        advance(first);
        return {};
      case ClockOp::set_wall:
        set_wall(first);
        return {};
      case ClockOp::set_both:
        set_boot(load_le<int64_t>(body.data() + 8));
        set_wall(first);
        return {};
    }
    return fail(Errc::unimplemented, "clock operation {} does not exist",
                static_cast<uint16_t>(op));
  }

 private:
  bool synchronised_ = true;
};

}  // namespace cellar::tests
