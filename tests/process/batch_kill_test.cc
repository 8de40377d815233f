// kill -9 and restarts under a batching writer: the writer reconnects and repeats, every
// acknowledged write is found, and none is left in doubt.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <thread>

#include "io/base/random.h"
#include "net/client/batch_writer.h"
#include "net/client/sync_client.h"
#include "tests/cases/node_process.h"
#include "tests/support/seeds.h"

namespace cellar::process {
namespace {
namespace fs = std::filesystem;

constexpr const char* kTable = "batches";
constexpr int kKills = 4;

class BatchKill : public testing::Test {
 protected:
  BatchKill() : scratch_(fs::temp_directory_path() / fmt::format("batch_kill_test.{}", getpid())) {
    fs::create_directories(scratch_);
  }
  ~BatchKill() override {
    node_.reset();
    if (!HasFailure()) fs::remove_all(scratch_);
  }
  void start() {
    node_ = std::make_unique<cases::NodeProcess>(
        fs::read_symlink("/proc/self/exe").parent_path() / "cellard", scratch_ / "data",
        std::vector<std::string>{"--shards", "2", "--memory-total", "256MiB"});
    node_->keep_address();
    const auto started = node_->start();
    ASSERT_TRUE(started) << started.error().message;
  }

  const fs::path scratch_;
  std::unique_ptr<cases::NodeProcess> node_;
};

TEST_F(BatchKill, TheWriterRidesItOutAndNothingAcknowledgedIsLost) {
  const uint64_t seed = number_from_environment("CELLAR_SEED", entropy_seed());
  SCOPED_TRACE(fmt::format("CELLAR_SEED={}", seed));
  start();
  client::ClientOptions options;
  options.address = node_->address();
  options.wait_for_connection = true;
  client::SyncClient cellar(options);
  client::TableSpec spec;
  spec.name = kTable;
  spec.families.emplace_back().name = "f";
  spec.splits = {"row05"};
  ASSERT_TRUE(cellar.create_table(spec));

  std::atomic<bool> killing = true;
  Result<void> restarted;
  // Runs until the end of the test: a node dies with the thread that started it.
  std::jthread killer([&](const std::stop_token& done) {
    Random random(seed);
    for (int i = 0; i < kKills && restarted; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100 + random.below(600)));
      node_->kill_now();
      std::this_thread::sleep_for(std::chrono::milliseconds(random.below(200)));
      restarted = node_->start();
    }
    killing = false;
    while (!done.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  });

  uint64_t written = 0;
  uint64_t failed = 0;
  std::string first_failure;
  std::map<std::string, uint64_t> acknowledged;
  client::BatchWriterOptions writing{.batch_rows = 50, .linger_us = 1'000};
  writing.call.sole_writer = true;  // so it repeats writes in doubt
  client::BatchWriter writer(cellar.client(), kTable, writing);
  constexpr size_t kPending = 2'000;
  Random random(seed + 1);
  while (killing) {
    while (writer.pending() < kPending) {
      const uint64_t number = ++written;
      // Mostly new rows; some are overwritten repeatedly, in order.
      const std::string row = random.one_in(5) ? fmt::format("row{:02}-latest", random.below(10))
                                               : fmt::format("row{:02}-{}", number % 10, number);
      client::Mutation m(row);
      m.set("f", "n", std::to_string(number), 1000);
      writer.async_write(std::move(m), [&, row, number](Result<void> r) {
        if (!r && failed++ == 0) first_failure = r.error().to_string();
        if (r) acknowledged[row] = number;
      });
    }
    cellar.loop().turn(true);
  }
  ASSERT_TRUE(restarted) << restarted.error().message;
  const auto closed = cellar.close(writer);
  EXPECT_TRUE(closed) << closed.error().to_string();
  EXPECT_EQ(failed, 0u) << first_failure;
  EXPECT_GE(cellar.client().stats().lost, 1u);

  std::map<std::string, uint64_t> found;
  client::ReadStream stream = cellar.read_rows(kTable, {});
  while (true) {
    const auto block = cellar.next(stream);
    ASSERT_TRUE(block) << block.error().to_string();
    if (block->empty()) break;
    for (const client::RowPart& part : block->rows()) {
      // A row may end in the next block, in a part without cells.
      for (const client::Cell& cell : part.cells)
        found[std::string(part.key)] = std::stoull(std::string(cell.value));
    }
  }
  EXPECT_EQ(found, acknowledged);
  std::printf("%llu writes over %d kills\n", static_cast<unsigned long long>(written), kKills);
}

}  // namespace
}  // namespace cellar::process
