// A clock that stands still until it is told to move, over the wire (clock_ops.h): of
// `cellard_testclock`, and of nodes that a test runs in its own process.
#pragma once

#include <atomic>

#include "io/base/clock.h"
#include "io/base/coding.h"
#include "net/server/extra_ops.h"
#include "tests/net/clock_ops.h"

namespace cellar::tests {

class AdjustableClock final : public Clock, public server::ExtraOps {
 public:
  AdjustableClock(int64_t wall_us, int64_t boot_us) : wall_us_(wall_us), boot_us_(boot_us) {}
  int64_t wall_us() const override { return wall_us_.load(); }
  int64_t boot_us() const override { return boot_us_.load(); }
  std::string boot_id() const override { return "testclock"; }

  Result<void> handle(uint16_t op, Bytes body) override {
    const bool two = static_cast<ClockOp>(op) == ClockOp::set_both;
    if (body.size() != (two ? 16 : 8)) {
      return fail(Errc::invalid_argument, "clock operation {} with {} bytes", op, body.size());
    }
    const auto first = load_le<int64_t>(body.data());
    switch (static_cast<ClockOp>(op)) {
      case ClockOp::advance:
        if (first < 0) return fail(Errc::invalid_argument, "time does not pass backwards");
        boot_us_ += first;
        wall_us_ += first;
        return {};
      case ClockOp::set_wall:
        wall_us_ = first;
        return {};
      case ClockOp::set_both:
        boot_us_ = load_le<int64_t>(body.data() + 8);
        wall_us_ = first;
        return {};
    }
    return fail(Errc::unimplemented, "clock operation {} does not exist", op);
  }

 private:
  std::atomic<int64_t> wall_us_;
  std::atomic<int64_t> boot_us_;
};

}  // namespace cellar::tests
