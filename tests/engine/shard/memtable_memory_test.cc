// A shard keeps the memory of flushed memtables for the next ones, and returns it after a while.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "engine/shard_figures.h"
#include "io/base/large_memory.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

constexpr size_t kMiB = 1u << 20;
constexpr int64_t kSecondUs = 1'000'000;

struct Chunks {
  HugeChunks chunks;
};

class MemtableMemory : private Chunks, public testing::Test {
 protected:
  MemtableMemory() : node_(options(&chunks)) {}
  void SetUp() override {
    if (!kLargeMemoryFromSystem) GTEST_SKIP() << "under a sanitizer memtables take the heap";
    ASSERT_TRUE(node_.create_table("t", {"f"}));
  }

  static TestNodeOptions options(HugeChunks* chunks) {
    TestNodeOptions options;
    options.engine.memory_bytes = 512 * kMiB;
    options.engine.memtable_bytes = 64 * kMiB;
    options.engine.log_segment_bytes = options.log.segment_bytes = 64 * kMiB;
    options.chunks = chunks;
    return options;
  }
  engine::MemoryFigures memory() { return node_.node().engine(ShardId{0}).shard_figures().memory; }
  // Fills a memtable with `bytes`, at a pace at which the thread of the chunks keeps up.
  void write(size_t bytes) {
    constexpr size_t kValueBytes = 16'000;
    for (size_t written = 0; written < bytes; written += kValueBytes) {
      const std::string row = fmt::format("r{:06}", rows_++ % 5'000);
      ASSERT_TRUE(node_.set("t", row, "f:q", 1, std::string(kValueBytes, value_)));
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  void wait(int64_t us) {
    for (int64_t step = 0; step < us; step += kSecondUs) node_.world().run_for_us(kSecondUs);
  }

  TestNode node_;
  char value_ = 'a';
  uint64_t rows_ = 0;
};

TEST_F(MemtableMemory, IsKeptForTheNextOneAndReturnedWhenItIsNotUsed) {
  for (int i = 0; i < 50 && memory().released_bytes < 4 * kMiB; ++i) {
    write(12 * kMiB);
    ASSERT_TRUE(node_.flush("t"));
  }
  wait(kSecondUs);  // what came from the heap is freed
  const size_t kept = memory().released_bytes;
  ASSERT_GE(kept, 4 * kMiB);
  // The next memtable uses it.
  write(2 * kMiB);
  EXPECT_LE(memory().released_bytes, kept - kMiB);
  ASSERT_TRUE(node_.flush("t"));
  wait(30 * kSecondUs);
  EXPECT_GE(memory().released_bytes, kept);
  wait(100 * kSecondUs);
  EXPECT_EQ(memory().released_bytes, 0u);
  for (const OwnedCell& cell : node_.cells("t")) {
    ASSERT_EQ(cell.value, std::string(cell.value.size(), value_));
  }
}

// Blocks that are given to two memtables would mix their cells.
TEST_F(MemtableMemory, CellsStayWhatTheyAreWhileItGoesFromOneToAnother) {
  for (value_ = 'a'; value_ < 'h'; ++value_) {
    write(8 * kMiB);
    if (value_ % 2 == 0) ASSERT_TRUE(node_.flush("t"));
    if (value_ % 3 == 0) wait(70 * kSecondUs);
    for (const OwnedCell& cell : node_.cells("t")) {
      ASSERT_EQ(cell.value, std::string(cell.value.size(), cell.value[0]));
    }
  }
}

}  // namespace
}  // namespace cellar::support
