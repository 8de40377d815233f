// kill -9 at random moments while rows are overwritten, deleted and age, tables are packed by
// Zstandard and what is dead is taken away soon: nothing acknowledged is lost or undone, nothing
// that was deleted comes back, nothing dead is read. CELLAR_KILLS says how many (6 by default),
// CELLAR_SEED the seed, CELLAR_MEMTABLE the memtables' size.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "tests/cases/node_process.h"
#include "tests/process/aging_writers.h"
#include "tests/support/seeds.h"

namespace cellar::process {
namespace {
namespace fs = std::filesystem;

constexpr int kWriters = 4;
constexpr size_t kDepth = 16;
constexpr size_t kValueBytes = 1500;
// A seeded life, long enough for flushes and merges one time of three.
constexpr uint64_t kShortMs = 300;
constexpr uint64_t kLongMs = 2000;

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
  void load_and_kill(uint64_t after_ms) {
    std::vector<std::thread> threads;
    for (AgingWriter& writer : writers_)
      threads.emplace_back(
          [this, &writer] { writer.write_until_failure(node_->address(), kDepth, kValueBytes); });
    std::this_thread::sleep_for(std::chrono::milliseconds(after_ms));
    node_->kill_now();
    for (auto& thread : threads) thread.join();
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
  // Everything in one place, and the same answers.
  client::SyncClient last = client();
  const auto compacted = last.compact_table("aging");
  EXPECT_TRUE(compacted) << compacted.error().message;
  check();
  uint64_t acknowledged = 0;
  for (const AgingWriter& writer : writers_) acknowledged += writer.acknowledged();
  EXPECT_GT(acknowledged, kills) << "the load never got going";
}

}  // namespace
}  // namespace cellar::process
