// kill -9 at random moments under load: no acknowledged write is lost, no row is half applied, and
// the node is ready again in time. CELLAR_KILLS is the number of kills (60 by default), CELLAR_SEED
// the seed.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "io/base/random.h"
#include "tests/cases/node_process.h"
#include "tests/process/support/writers.h"
#include "tests/support/seeds.h"

namespace cellar::process {
namespace {
namespace fs = std::filesystem;

constexpr int kWriters = 4;
constexpr int64_t kReadyMs = 2'000;        // plus 1 s per GiB of log
constexpr int64_t kStuck = 4;              // no start may take this many times that
constexpr uint64_t kSlowStartsOneIn = 20;  // share of starts that a busy machine may delay past it
constexpr uint64_t kRowsPerWriter =
    60'000;  // then a new directory is used, so that checks stay fast

int64_t steady_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

uint64_t log_bytes(const std::string& data_dir) {
  uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(data_dir) / "log")) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

class Kill : public testing::Test {
 protected:
  Kill() : scratch_(fs::temp_directory_path() / fmt::format("kill_test.{}", getpid())) {
    fs::create_directories(scratch_);
  }
  ~Kill() override {
    node_.reset();
    if (!HasFailure()) fs::remove_all(scratch_);
  }

  // A new directory and new writers.
  void begin_anew() {
    node_.reset();
    fs::remove_all(data_dir());
    node_ = std::make_unique<cases::NodeProcess>(
        fs::read_symlink("/proc/self/exe").parent_path() / "cellard", data_dir(),
        std::vector<std::string>{"--shards", "2", "--memory-total", "128MiB", "--memory-memtable",
                                 "2MiB", "--log-segment", "4MiB"});
    const auto started = node_->start();
    ASSERT_TRUE(started) << started.error().message;
    const auto made = create_kill_table(node_->address());
    ASSERT_TRUE(made) << made.error().message;
    writers_.clear();
    for (int w = 0; w < kWriters; ++w) writers_.emplace_back(w);
  }

  void load_and_kill(int64_t after_ms) {
    std::vector<std::thread> threads;
    for (Writer& writer : writers_) {
      threads.emplace_back([this, &writer] { writer.write_until_failure(node_->address(), 16); });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(after_ms));
    node_->kill_now();
    for (auto& thread : threads) thread.join();
  }

  void restart_and_check() {
    const int64_t allowed_ms = kReadyMs + static_cast<int64_t>(log_bytes(data_dir()) * 1000 >> 30);
    const int64_t began_ms = steady_ms();
    const auto started = node_->start();
    ASSERT_TRUE(started) << started.error().message;
    const int64_t took_ms = steady_ms() - began_ms;
    slow_starts_ += took_ms > allowed_ms ? 1 : 0;
    slowest_start_ms_ = std::max(slowest_start_ms_, took_ms);
    EXPECT_LE(took_ms, kStuck * allowed_ms);
    client::ClientOptions options;
    options.address = node_->address();
    client::SyncClient client(options);
    const auto wrong = check_promises(client, writers_);
    EXPECT_TRUE(wrong.empty()) << wrong.size() << " promises broken, the first: " << wrong.front();
  }

  uint64_t most_rows() const {
    uint64_t most = 0;
    for (const Writer& writer : writers_) most = std::max(most, writer.started());
    return most;
  }
  std::string data_dir() const { return scratch_ / "data"; }

  const fs::path scratch_;
  std::unique_ptr<cases::NodeProcess> node_;
  std::vector<Writer> writers_;
  uint64_t slow_starts_ = 0;
  int64_t slowest_start_ms_ = 0;
};

TEST_F(Kill, NoAcknowledgedWriteIsLostAndNoRowIsHalfApplied) {
  const uint64_t kills = number_from_environment("CELLAR_KILLS", 60);
  const uint64_t seed = number_from_environment("CELLAR_SEED", entropy_seed());
  Random random(seed);
  SCOPED_TRACE(fmt::format("CELLAR_SEED={} CELLAR_KILLS={}", seed, kills));
  begin_anew();
  uint64_t promised = 0;
  for (uint64_t kill = 0; kill < kills && !HasFailure(); ++kill) {
    // Mostly short runs, which test starts and recovery; some long enough for flushes and
    // compactions.
    const int64_t life_ms = random.one_in(6) ? 800 + static_cast<int64_t>(random.below(2200))
                                             : 5 + static_cast<int64_t>(random.below(500));
    load_and_kill(life_ms);
    restart_and_check();
    for (const Writer& writer : writers_) promised += writer.acknowledged();
    if (most_rows() > kRowsPerWriter) begin_anew();
  }
  EXPECT_GT(promised, kills) << "the load never got going";
  EXPECT_LE(slow_starts_, kills / kSlowStartsOneIn)
      << "the slowest took " << slowest_start_ms_ << " ms";
  std::printf("%llu kills, slowest start %lld ms\n", static_cast<unsigned long long>(kills),
              static_cast<long long>(slowest_start_ms_));
}

// Recovery that is killed repeatedly must not lose data, grow or slow down.
TEST_F(Kill, ARestartStormLosesNothing) {
  const uint64_t seed = number_from_environment("CELLAR_SEED", entropy_seed());
  Random random(seed);
  SCOPED_TRACE(fmt::format("CELLAR_SEED={}", seed));
  begin_anew();
  load_and_kill(700);
  uint64_t log_before = 0;
  for (int i = 0; i < 20 && !HasFailure(); ++i) {
    const auto started = node_->start({}, 20'000);
    ASSERT_TRUE(started) << started.error().message;
    std::this_thread::sleep_for(std::chrono::milliseconds(random.below(60)));
    node_->kill_now();
    if (i == 4) log_before = log_bytes(data_dir());
  }
  EXPECT_LE(log_bytes(data_dir()), 2 * log_before + (32u << 20))
      << "the log grows with every start";
  restart_and_check();
}

}  // namespace
}  // namespace cellar::process
