// kill -9 at random moments while rows are overwritten, deleted and expire, tables are compressed
// by Zstandard and dead cells are reclaimed soon: no acknowledged write is lost or undone, no
// deleted cell returns, no dead cell is read. The same with continuous splits, moves and merges of
// tablets, and with kills during starts. CELLAR_KILLS is the number of kills (6 by default),
// CELLAR_SEED the seed, CELLAR_MEMTABLE the size of the memtables.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "tests/cases/node_process.h"
#include "tests/process/support/aging_writers.h"
#include "tests/process/support/reshaper.h"
#include "tests/support/seeds.h"

namespace cellar::process {
namespace {
namespace fs = std::filesystem;

constexpr int kWriters = 4;
constexpr size_t kDepth = 16;
constexpr size_t kValueBytes = 1500;
// The time until a kill, drawn from the seed; one in three is long enough for flushes and merges.
constexpr uint64_t kShortMs = 300;
constexpr uint64_t kLongMs = 2000;
// For the runs in which tablets are reshaped.
constexpr uint32_t kAttempts = 20;
constexpr size_t kMostTablets = 8;
constexpr auto kReshapePause = std::chrono::milliseconds(10);
constexpr uint64_t kVerifyOneIn = 5;

class AgingKill : public testing::Test {
 protected:
  AgingKill() : scratch_(fs::temp_directory_path() / fmt::format("aging_kill_test.{}", getpid())) {
    fs::create_directories(scratch_);
    const char* memtable = std::getenv("CELLAR_MEMTABLE");
    node_ = std::make_unique<cases::NodeProcess>(
        fs::read_symlink("/proc/self/exe").parent_path() / "cellard", scratch_ / "data",
        std::vector<std::string>{"--shards", "2", "--memory-total", "256MiB", "--memory-memtable",
                                 memtable != nullptr ? memtable : "1MiB", "--log-segment", "4MiB",
                                 "--tables-bytes", "4MiB"});
  }
  ~AgingKill() override {
    node_.reset();
    if (!HasFailure()) fs::remove_all(scratch_);
  }

  client::SyncClient client() const {
    client::ClientOptions options;
    options.address = node_->address();
    return client::SyncClient(options);
  }
  void start() {
    const auto started = node_->start();
    ASSERT_TRUE(started) << started.error().message;
  }
  void load_and_kill(uint64_t after_ms, uint32_t attempts = 1) {
    std::vector<std::thread> threads;
    for (AgingWriter& writer : writers_)
      threads.emplace_back([this, &writer, attempts] {
        writer.write_until_failure(node_->address(), kDepth, kValueBytes, attempts);
      });
    std::this_thread::sleep_for(std::chrono::milliseconds(after_ms));
    node_->kill_now();
    for (auto& thread : threads) thread.join();
  }
  // The same, while tablets are reshaped.
  void load_reshape_and_kill(uint64_t after_ms, Reshaper& reshaper) {
    std::atomic<bool> killed = false;
    std::string wrong;
    std::thread thread([&] {
      client::ClientOptions options;
      options.address = node_->address();
      options.retry.max_attempts = 1;
      client::SyncClient operator_client(options);
      while (!killed) {
        const auto done = reshaper.step(operator_client);
        // Errors of a node that is being killed do not count.
        if (!done && done.error().code != Errc::unavailable && !killed)
          wrong = done.error().to_string();
        std::this_thread::sleep_for(kReshapePause);
      }
    });
    load_and_kill(after_ms, kAttempts);
    killed = true;
    thread.join();
    EXPECT_EQ(wrong, "");
  }
  void verify() {
    const fs::path inspect = fs::read_symlink("/proc/self/exe").parent_path() / "cellar-inspect";
    const fs::path said = scratch_ / "verify";
    const int status = std::system(fmt::format("'{}' verify '{}' > '{}' 2>&1", inspect.string(),
                                               (scratch_ / "data").string(), said.string())
                                       .c_str());
    EXPECT_EQ(status, 0) << "see " << said;
  }
  void check() {
    client::SyncClient reader = client();
    for (AgingWriter& writer : writers_) {
      const auto wrong = writer.check(reader);
      EXPECT_TRUE(wrong.empty()) << wrong.size()
                                 << " promises broken, the first: " << wrong.front();
    }
  }

  const fs::path scratch_;
  std::unique_ptr<cases::NodeProcess> node_;
  std::vector<AgingWriter> writers_;
};

TEST_F(AgingKill, NothingIsLostNothingComesBackNothingDeadIsRead) {
  const uint64_t kills = number_from_environment("CELLAR_KILLS", 6);
  const uint64_t seed = number_from_environment("CELLAR_SEED", entropy_seed());
  SCOPED_TRACE(fmt::format("CELLAR_SEED={} CELLAR_KILLS={} in {}", seed, kills, scratch_.string()));
  Random random(seed);
  for (int w = 0; w < kWriters; ++w) writers_.emplace_back(w, random.next());
  start();
  {
    client::SyncClient creator = client();
    const auto made = create_aging_table(creator);
    ASSERT_TRUE(made) << made.error().message;
  }
  for (uint64_t kill = 0; kill < kills && !HasFailure(); ++kill) {
    const bool longer = random.one_in(3);
    load_and_kill(longer ? kShortMs + random.below(kLongMs) : 5 + random.below(kShortMs));
    start();
    if (!HasFailure()) check();
  }
  // After a full compaction the answers are the same.
  client::SyncClient last = client();
  const auto compacted = last.compact_table("aging");
  EXPECT_TRUE(compacted) << compacted.error().message;
  check();
  uint64_t acknowledged = 0;
  for (const AgingWriter& writer : writers_) acknowledged += writer.acknowledged();
  EXPECT_GT(acknowledged, kills) << "the load never got going";
}

// Each row has its last acknowledged value, or that of its one operation in doubt.
TEST_F(AgingKill, SoTooWhileTabletsAreSplitMovedAndMerged) {
  const uint64_t kills = number_from_environment("CELLAR_KILLS", 6);
  const uint64_t seed = number_from_environment("CELLAR_SEED", entropy_seed());
  SCOPED_TRACE(fmt::format("CELLAR_SEED={} CELLAR_KILLS={} in {}", seed, kills, scratch_.string()));
  Random random(seed);
  for (int w = 0; w < kWriters; ++w) writers_.emplace_back(w, random.next());
  Reshaper reshaper("aging", 2, kMostTablets, random.next());
  start();
  {
    client::SyncClient creator = client();
    const auto made = create_aging_table(creator);
    ASSERT_TRUE(made) << made.error().message;
  }
  for (uint64_t kill = 0; kill < kills && !HasFailure(); ++kill) {
    load_reshape_and_kill(kShortMs + random.below(kLongMs), reshaper);
    if (kill % kVerifyOneIn == 0) verify();
    // A start that is killed before it completes.
    if (random.one_in(3)) (void)node_->start({}, 1 + static_cast<int>(random.below(100)));
    node_->kill_now();
    start();
    if (!HasFailure()) check();
  }
  node_->kill_now();
  verify();
  EXPECT_GT(reshaper.splits(), 0u);
  EXPECT_GT(reshaper.moves(), 0u);
  EXPECT_GT(reshaper.merges(), 0u);
  std::printf("%llu splits, %llu moves, %llu merges\n",
              static_cast<unsigned long long>(reshaper.splits()),
              static_cast<unsigned long long>(reshaper.moves()),
              static_cast<unsigned long long>(reshaper.merges()));
}

}  // namespace
}  // namespace cellar::process
