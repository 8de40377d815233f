// Which tables have a partitioned index: those whose whole index would take a large share of the
// cache. Also the memory that open tables then take.
#include <gtest/gtest.h>

#include <map>

#include "engine/jobs/output_format.h"
#include "engine/sstable/format.h"
#include "io/base/coding.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

using engine::IndexParts;
// How many tables on disk have a whole index, and how many have one in parts.
using Counts = std::map<std::string, int>;

class Parts : public testing::Test {
 protected:
  static constexpr uint64_t kMemoryBytes = 2u << 20;
  static constexpr uint64_t kCacheBytes = kMemoryBytes / 4;

  static TestNodeOptions options_of(IndexParts wanted) {
    TestNodeOptions options;
    options.engine.memory_bytes = kMemoryBytes;
    options.engine.memtable_bytes = 256u << 10;
    options.engine.table_bytes = 64u << 20;
    options.engine.index_parts = wanted;
    options.engine.index_part_bytes = 1024;
    return options;
  }
  static Counts indexes(TestNode& node) {
    Counts counts;
    for (const std::string& file : node.disk().all_files()) {
      if (!file.starts_with("blob/") || !file.ends_with(".sst")) continue;
      const std::string bytes = node.disk().read_all(file).value();
      const char* const kind = bytes.data() + bytes.size() - engine::kTableFooterBytes + 56;
      ++counts[load_le<uint32_t>(kind) == 1 ? "parts" : "whole"];
    }
    return counts;
  }
  static void create(TestNode& node) {
    TableOptions options{.durability = Durability::memory, .compression = Compression::lz4};
    options.block_bytes = kMinBlockBytes;
    options.bottom_compression = BottomCompression::same;
    ASSERT_TRUE(node.create_table("t", {"f"}, {}, options));
  }
  static std::string row(int i) { return fmt::format("{:06}", i * 7919 % 1'000'000); }
  static std::string value(int i) {
    Random random(static_cast<uint64_t>(i));
    std::string text = fmt::format("value {} ", i);
    while (text.size() < 60) text += fmt::format("{:x}", random.next());
    return text;
  }
  static void fill(TestNode& node, int first, int rows) {
    for (int i = first; i < first + rows; ++i)
      ASSERT_TRUE(node.set("t", row(i), "f:q", 1000, value(i)));
  }
  static void merge(TestNode& node) {
    ASSERT_TRUE(node.flush("t"));
    ASSERT_TRUE(node.compact("t"));
    node.world().run_for_us(1'000'000);
  }
};

TEST_F(Parts, TheyComeWhereWholeOnesTakeAGoodShareOfTheCache) {
  TestNode node(options_of(IndexParts::automatic));
  create(node);
  fill(node, 0, 500);
  merge(node);
  EXPECT_EQ(indexes(node), (Counts{{"whole", 1}})) << "it is small";
  int rows = 500;
  uint64_t whole = 0;
  for (; indexes(node).count("parts") == 0; rows += 2000) {
    whole = node.stats().metadata_bytes;
    ASSERT_LE(whole, kCacheBytes / engine::kWholeShare);
    ASSERT_LT(rows, 100'000);
    fill(node, rows, 2000);
    merge(node);
  }
  EXPECT_EQ(indexes(node), (Counts{{"parts", 1}}));
  EXPECT_GT(whole, kCacheBytes / engine::kWholeShare / 2) << "and not before";
  EXPECT_LT(node.stats().metadata_bytes, whole / 8);
  EXPECT_EQ(node.cells("t").size(), static_cast<size_t>(rows));
  fill(node, rows, 1);
  ASSERT_TRUE(node.flush("t"));
  EXPECT_EQ(indexes(node), (Counts{{"whole", 1}, {"parts", 1}})) << "a flush writes whole ones";
  // There is room again now, but not for the output of this merge.
  merge(node);
  EXPECT_EQ(indexes(node), (Counts{{"parts", 1}}));
  EXPECT_EQ(node.cells("t").size(), static_cast<size_t>(rows) + 1);
}

TEST_F(Parts, AnOperatorMayHaveThemAlwaysOrNever) {
  for (const IndexParts wanted : {IndexParts::always, IndexParts::never}) {
    TestNode node(options_of(wanted));
    create(node);
    fill(node, 0, wanted == IndexParts::always ? 100 : 20'000);
    ASSERT_TRUE(node.flush("t"));
    fill(node, 50'000, 1);
    merge(node);
    EXPECT_EQ(indexes(node), (Counts{{wanted == IndexParts::always ? "parts" : "whole", 1}}));
  }
}

// Data many times the size of the cache: present rows are found and absent ones are not, whichever
// parts are in memory, and the total memory stays within the budget.
TEST_F(Parts, MemoryStaysWithinItsBudgetWhateverIsStored) {
  TestNode node(options_of(IndexParts::always));
  create(node);
  int rows = 0;
  for (; node.stats().table_bytes < 12 * kCacheBytes; rows += 4000) {
    fill(node, rows, 4000);
    ASSERT_TRUE(node.flush("t"));
    if (rows % 40'000 == 36'000) merge(node);
    ASSERT_LT(rows, 1'000'000);
  }
  merge(node);
  Random random(3);
  for (int i = 0; i < 3000; ++i) {
    const int wanted = static_cast<int>(random.below(static_cast<uint64_t>(rows) * 2));
    const auto cells = node.read_row("t", row(wanted));
    ASSERT_TRUE(cells.has_value());
    ASSERT_EQ(cells->size(), wanted < rows ? 1u : 0u) << wanted;
    if (wanted < rows) ASSERT_EQ(cells->front().value, value(wanted));
    const auto stats = node.stats();
    // What memtables leave (engine/shard/memory_budget.h).
    ASSERT_LE(stats.cache_bytes + stats.metadata_bytes, kMemoryBytes / 8 * 5);
  }
  EXPECT_LT(node.stats().metadata_bytes, kCacheBytes / 8);
}

}  // namespace
}  // namespace cellar::support
