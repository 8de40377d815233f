// cellard_testclock: the storage node with a clock that stands still until it is told to move
// (clock_ops.h). For the acceptance cases; never installed.
#include <atomic>
#include <charconv>
#include <cstdio>

#include "io/base/coding.h"
#include "net/server/program.h"
#include "tests/net/clock_ops.h"

namespace cellar::tests {
namespace {

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

bool parse(const std::string& text, int64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace
}  // namespace cellar::tests

int main(int argc, char** argv) {
  using namespace cellar;
  server::hold_stop_signals();
  std::string wall = "1700000000000000";
  std::string boot = "1000000000";
  const auto config =
      server::parse_command_line(argc, argv,
                                 {{"--test-wall-us", "reading of the wall clock", &wall},
                                  {"--test-boot-us", "reading of the boot-time clock", &boot}});
  int64_t wall_us = 0;
  int64_t boot_us = 0;
  if (!config || !tests::parse(wall, wall_us) || !tests::parse(boot, boot_us)) {
    fmt::print(stderr, "cellard_testclock: {}\n",
               config ? "the clock is no number" : config.error().message);
    return server::kExitUsage;
  }
  if (!config->print.empty()) {
    fmt::print("{}", config->print);
    return 0;
  }
  tests::AdjustableClock clock(wall_us, boot_us);
  return server::run_node(config->options, clock, &clock);
}
