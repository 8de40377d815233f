// cellard_testclock: the storage node with a clock that stands until it is moved (clock_ops.h), or
// that runs with an offset. For the acceptance cases and for trials of clocks; never installed.
#include <charconv>

#include "net/server/process/program.h"
#include "net/server/process/say.h"
#include "tests/net/server/clock_requests.h"

namespace cellar::tests {
namespace {

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
  std::string boot_id = "testclock";
  std::string since = "-1";
  std::string synced = "1";
  const auto config =
      server::parse_command_line(argc, argv,
                                 {{"--test-wall-us", "reading of the wall clock", &wall},
                                  {"--test-boot-us", "reading of the boot-time clock", &boot},
                                  {"--test-since-us",
                                   "when the machine's monotonic clock read this, the clocks read "
                                   "that, and they run; -1: they stand still",
                                   &since},
                                  {"--test-boot-id", "names the boot", &boot_id},
                                  {"--test-synchronised", "the kernel says so: 0 or 1", &synced}});
  int64_t wall_us = 0;
  int64_t boot_us = 0;
  int64_t since_us = 0;
  int64_t synchronised = 0;
  if (!config || !tests::parse(wall, wall_us) || !tests::parse(boot, boot_us) ||
      !tests::parse(since, since_us) || !tests::parse(synced, synchronised)) {
    server::say(stderr, "cellard_testclock: {}\n",
                config ? "the clock is no number" : config.error().message);
    return server::kExitUsage;
  }
  if (!config->print.empty()) return server::print_page(config->print);
  tests::AdjustableClock clock(wall_us, boot_us);
  clock.run_since(since_us);
  clock.set_boot_id(boot_id);
  clock.set_synchronised(synchronised != 0);
  return server::run_node(*config, clock, nullptr, tests::ClockRequests(clock));
}
