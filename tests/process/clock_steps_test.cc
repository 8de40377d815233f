// A random trial of a real node on a machine whose clock goes wrong (clock_trial.h): no dead cell
// is read again, and none dies early. `cellard` under libfaketime: its wall clock steps unseen,
// while the boot-time clock is the machine's own. 1,000 steps a seed; CELLAR_ROUNDS=20 plays twenty
// seeds, CELLAR_SEED=n that one.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/process/clock_trial.h"
#include "tests/support/seeds.h"

namespace cellar::process {
namespace {
namespace fs = std::filesystem;

constexpr int kSteps = 1'000;

std::vector<std::string> arguments() {
  return {"--shards",          "2",    "--log-segment",      "1MiB", "--memory-total", "64MiB",
          "--memory-memtable", "1MiB", "--balance-interval", "100ms"};
}
fs::path program(const char* name) {
  return fs::read_symlink("/proc/self/exe").parent_path() / name;
}

// libfaketime moves what the node takes for the wall clock; nothing else, and nobody tells it.
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

TEST(ClockSteps, NothingComesBackAndNothingDiesEarlyUnderLibfaketime) {
  for (const uint64_t seed : test_seeds(1)) play<FakeTimeMachine>(seed);
}

}  // namespace
}  // namespace cellar::process
