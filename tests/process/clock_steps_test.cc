// Random trials of real nodes on machines with wrong clocks (clock_trial.h): no dead cell is read
// again, and no cell dies early. `cellard_testclock` for reboots of the machine and kernels that do
// not vouch for its clock; `cellard` under libfaketime for unnoticed steps of the wall clock, with
// the machine's own boot-time clock. 1,000 steps a seed; CELLAR_ROUNDS=20 plays twenty seeds,
// CELLAR_SEED=n only that one.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/cases/clock_control.h"
#include "tests/net/server/adjustable_clock.h"
#include "tests/process/support/clock_trial.h"
#include "tests/support/durations.h"
#include "tests/support/seeds.h"

namespace cellar::process {
namespace {
namespace fs = std::filesystem;

constexpr int kSteps = 1'000;
constexpr int64_t kBootTakesUs = 5 * kSecondUs;  // unless the machine is back sooner

std::vector<std::string> arguments() {
  return {"--shards",          "2",    "--log-segment",      "1MiB", "--memory-total", "64MiB",
          "--memory-memtable", "1MiB", "--balance-interval", "100ms"};
}
fs::path program(const char* name) {
  return fs::read_symlink("/proc/self/exe").parent_path() / name;
}

// Every clock belongs to the trial; the clocks run, and are advanced when time is to pass.
class TestClockMachine final : public TrialMachine {
 public:
  explicit TestClockMachine(const fs::path& scratch)
      : node_(program("cellard_testclock"), scratch / "data", arguments()) {}

  int64_t real_us() const override { return monotonic_us() + passed_us_; }
  void pass(int64_t us) override {
    passed_us_ += us;
    const auto done = cases::advance_node_clock(node_.address(), us);
    EXPECT_TRUE(done) << done.error().message;
  }
  Result<void> set_wall_ahead(int64_t us) override {
    ahead_us_ = us;
    return cases::set_node_wall_clock(node_.address(), real_us() + us);
  }
  Result<void> start() override {
    const int64_t now_us = monotonic_us();
    const int64_t real_us = now_us + passed_us_;
    return node_.start({"--test-wall-us", std::to_string(real_us + ahead_us_), "--test-boot-us",
                        std::to_string(real_us - booted_us_), "--test-since-us",
                        std::to_string(now_us), "--test-boot-id", fmt::format("boot {}", boots_),
                        "--test-synchronised", synchronised_ ? "1" : "0"});
  }
  cases::NodeProcess& node() override { return node_; }
  // The kernel vouches for its clock when the clock is right.
  bool boots() const override { return true; }
  void boot(int64_t down_us) override {
    passed_us_ += down_us;
    booted_us_ = real_us() - std::min(down_us, kBootTakesUs);
    ++boots_;
    ahead_us_ = ahead_us_ > kSecondUs ? ahead_us_ : 0;
    synchronised_ = ahead_us_ == 0;
  }

 private:
  static int64_t monotonic_us() { return tests::AdjustableClock::monotonic_us(); }

  cases::NodeProcess node_;
  int64_t passed_us_ = 1'700'000'000 * kSecondUs;
  int64_t booted_us_ = real_us() - kBootTakesUs;
  int boots_ = 0;
  int64_t ahead_us_ = 0;
  bool synchronised_ = true;
};

// libfaketime changes only the wall clock of the node, which gets no notice of it.
class FakeTimeMachine final : public TrialMachine {
 public:
  explicit FakeTimeMachine(const fs::path& scratch)
      : library_(find_library()),
        offset_(scratch / "offset"),
        node_(program("cellard"), scratch / "data", arguments()) {
    write_offset(0);
  }

  int64_t real_us() const override {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  void pass(int64_t us) override { std::this_thread::sleep_for(std::chrono::microseconds(us)); }
  Result<void> set_wall_ahead(int64_t us) override {
    write_offset(us);
    return {};
  }
  Result<void> start() override {
    if (library_.empty()) {
      return fail(Errc::not_found, "libfaketime is not installed (./run deps all installs it)");
    }
    const std::pair<const char*, std::string> environment[] = {
        {"LD_PRELOAD", library_},
        {"FAKETIME_TIMESTAMP_FILE", offset_},
        {"FAKETIME_NO_CACHE", "1"},
        {"FAKETIME_DONT_FAKE_MONOTONIC", "1"},
        {"NO_FAKE_STAT", "1"}};
    for (const auto& [name, value] : environment) setenv(name, value.c_str(), 1);
    auto started = node_.start();
    for (const auto& [name, value] : environment) unsetenv(name);
    return started;
  }
  cases::NodeProcess& node() override { return node_; }

 private:
  static std::string find_library() {
    for (const auto& folder : fs::directory_iterator("/usr/lib")) {
      const fs::path library = folder.path() / "faketime" / "libfaketimeMT.so.1";
      if (fs::exists(library)) return library;
    }
    return "";
  }
  void write_offset(int64_t us) const {
    const fs::path next = offset_.string() + ".next";
    std::ofstream(next) << fmt::format("{:+.6f}\n", static_cast<double>(us) / 1e6);
    fs::rename(next, offset_);
  }

  const std::string library_;
  const fs::path offset_;
  cases::NodeProcess node_;
};

template <class Machine>
void play(uint64_t seed) {
  const fs::path scratch = fs::temp_directory_path() / fmt::format("clock_steps_test.{}", getpid());
  fs::remove_all(scratch);
  fs::create_directories(scratch);
  SCOPED_TRACE(fmt::format("CELLAR_SEED={} in {}", seed, scratch.string()));
  Machine machine(scratch);
  ClockTrial trial(machine, seed);
  const auto expect = [&](const Result<void>& done) {
    EXPECT_TRUE(done) << done.error().to_string() << " after " << trial.figures();
    return done.has_value();
  };
  bool goes_on = expect(machine.start()) && expect(trial.begin());
  for (int i = 0; i < kSteps && goes_on && trial.wrong().empty(); ++i)
    goes_on = expect(trial.step());
  if (goes_on) expect(trial.read_all());
  for (const std::string& wrong : trial.wrong()) ADD_FAILURE() << wrong;
  std::printf("%s\n", trial.figures().c_str());
  if (!testing::Test::HasFailure()) fs::remove_all(scratch);
}

TEST(ClockSteps, NothingComesBackAndNothingDiesEarlyOverBoots) {
  for (const uint64_t seed : test_seeds(1)) play<TestClockMachine>(seed);
}

TEST(ClockSteps, NothingComesBackAndNothingDiesEarlyUnderLibfaketime) {
  for (const uint64_t seed : test_seeds(1)) play<FakeTimeMachine>(seed);
}

}  // namespace
}  // namespace cellar::process
