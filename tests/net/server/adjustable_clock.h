// A clock that stands until an operation moves it over the wire (clock_ops.h): of
// `cellard_testclock`, and of nodes in a test's own process. It may also run, from a moment of the
// machine's monotonic clock at which it read its initial value.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <utility>

#include "io/base/clock.h"
#include "io/base/coding.h"
#include "io/base/result.h"
#include "tests/net/server/clock_ops.h"

namespace cellar::tests {

class AdjustableClock final : public Clock {
 public:
  AdjustableClock(int64_t wall_us, int64_t boot_us) : wall_us_(wall_us), boot_us_(boot_us) {}
  void run_since(int64_t monotonic_us) { since_us_ = monotonic_us; }
  void set_synchronised(bool yes) { synchronised_ = yes; }
  void set_boot_id(std::string id) { boot_id_ = std::move(id); }
  static int64_t monotonic_us() {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  int64_t wall_us() const override { return wall_us_.load() + passed_us(); }
  int64_t boot_us() const override { return boot_us_.load() + passed_us(); }
  std::string boot_id() const override { return boot_id_; }
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
        boot_us_ += first;
        wall_us_ += first;
        return {};
      case ClockOp::set_wall:
        wall_us_ = first - passed_us();
        return {};
      case ClockOp::set_both:
        boot_us_ = load_le<int64_t>(body.data() + 8) - passed_us();
        wall_us_ = first - passed_us();
        return {};
    }
    return fail(Errc::unimplemented, "clock operation {} does not exist",
                static_cast<uint16_t>(op));
  }

 private:
  int64_t passed_us() const { return since_us_ < 0 ? 0 : monotonic_us() - since_us_; }

  std::atomic<int64_t> wall_us_;
  std::atomic<int64_t> boot_us_;
  int64_t since_us_ = -1;  // -1: it stands
  bool synchronised_ = true;
  std::string boot_id_ = "testclock";
};

}  // namespace cellar::tests
