// One hot table, created without splits, ends up on every core, without errors for its clients.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <set>
#include <thread>

#include "net/client/sync_client.h"
#include "tests/cases/node_process.h"

namespace cellar::process {
namespace {
namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr const char* kTable = "hot";
constexpr int kLoaders = 3;
constexpr size_t kRowsPerBatch = 100;
constexpr uint64_t kRows = 60'000;  // per loader

struct Loader {
  uint64_t written = 0;
  std::string failure;  // the first failure
};

// Rows all over the table, each written once, with its number in it.
std::string row_of(int loader, uint64_t i) {
  return fmt::format("{:016x}",
                     (i * kLoaders + static_cast<uint64_t>(loader)) * 0x9e3779b97f4a7c15);
}

void load(const std::string& address, int number, Loader& loader) {
  client::ClientOptions options;
  options.address = address;
  client::SyncClient client(options);
  for (uint64_t i = 0; i < kRows; i += kRowsPerBatch) {
    std::vector<client::Mutation> rows;
    for (uint64_t n = i; n < i + kRowsPerBatch; ++n) {
      rows.emplace_back(row_of(number, n)).set("f", "q", std::string(100, 'v'), 1000);
    }
    const auto done = client.mutate_rows(kTable, rows);
    if (!done) {
      loader.failure = done.error().to_string();
      return;
    }
    for (const auto& one : *done) {
      if (!one) loader.failure = one.error().to_string();
    }
    loader.written += rows.size();
  }
}

std::set<uint32_t> shards_of(client::SyncClient& client) {
  std::set<uint32_t> shards;
  client::ListTablets spec;
  spec.table = kTable;
  const auto page = client.list_tablets(spec);
  if (!page) return shards;
  for (const auto& one : page->tablets) shards.insert(one.shard);
  return shards;
}

TEST(Spread, AHotTableComesToUseEveryShardAndNothingFails) {
  const fs::path scratch = fs::temp_directory_path() / fmt::format("spread_test.{}", getpid());
  fs::remove_all(scratch);
  fs::create_directories(scratch);
  cases::NodeProcess node(fs::read_symlink("/proc/self/exe").parent_path() / "cellard",
                          scratch / "data",
                          {"--shards", "2", "--pin", "false", "--balance-early-split", "1MiB",
                           "--balance-interval", "100ms", "--log-segment", "8MiB"});
  const auto started = node.start();
  ASSERT_TRUE(started) << started.error().message;
  client::ClientOptions options;
  options.address = node.address();
  client::SyncClient client(options);
  client::TableSpec spec;
  spec.name = kTable;
  spec.families.resize(1);
  spec.families[0].name = "f";
  ASSERT_TRUE(client.create_table(spec));
  EXPECT_EQ(shards_of(client).size(), 1u);

  std::vector<Loader> loaders(kLoaders);
  std::vector<std::thread> threads;
  for (int i = 0; i < kLoaders; ++i) {
    threads.emplace_back([&, i] { load(node.address(), i, loaders[static_cast<size_t>(i)]); });
  }
  const auto until = std::chrono::steady_clock::now() + 60s;
  while (shards_of(client).size() < 2 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(50ms);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shards_of(client).size(), 2u);
  uint64_t written = 0;
  for (const Loader& loader : loaders) {
    EXPECT_EQ(loader.failure, "");
    written += loader.written;
  }
  EXPECT_EQ(written, kRows * kLoaders);

  const auto count = [](client::SyncClient& from) {
    uint64_t rows = 0;
    client::ReadStream stream = from.read_rows(kTable, {});
    while (true) {
      const auto block = from.next(stream);
      EXPECT_TRUE(block) << block.error().to_string();
      if (!block || block->rows().empty()) return rows;
      for (const auto& row : block->rows()) rows += row.complete;
    }
  };
  EXPECT_EQ(count(client), written);

  // The same after a restart.
  node.kill_now();
  ASSERT_TRUE(node.start());
  options.address = node.address();
  client::SyncClient again(options);
  EXPECT_EQ(shards_of(again).size(), 2u);
  EXPECT_EQ(count(again), written);
  node.kill_now();
  fs::remove_all(scratch);
}

}  // namespace
}  // namespace cellar::process
