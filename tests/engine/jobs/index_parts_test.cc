// Which tables have a partitioned index: those whose whole index would take a large share of the
// cache, and never in a directory whose format does not support it. Also the memory that open
// tables then take.
#include <gtest/gtest.h>

#include <map>

#include "engine/jobs/output_format.h"
#include "engine/sstable/format.h"
#include "io/base/coding.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

using engine::IndexParts;
using Formats = std::map<uint32_t, int>;

class Parts : public testing::Test {
 protected:
  static constexpr uint64_t kMemoryBytes = 2u << 20;
  static constexpr uint64_t kCacheBytes = kMemoryBytes / 4;

  static TestNodeOptions options_of(uint32_t format, IndexParts wanted) {
    TestNodeOptions options;
    options.engine.format = format;
    options.engine.memory_bytes = kMemoryBytes;
    options.engine.memtable_bytes = 256u << 10;
    options.engine.table_bytes = 64u << 20;
    options.engine.index_parts = wanted;
    options.engine.index_part_bytes = 1024;
    return options;
  }
  // The formats of the tables on disk, with the number of tables of each.
  static Formats formats(TestNode& node) {
    Formats counts;
    for (const std::string& file : node.disk().all_files()) {
      if (!file.starts_with("blob/") || !file.ends_with(".sst")) continue;
      const std::string bytes = node.disk().read_all(file).value();
      ++counts[load_le<uint32_t>(bytes.data() + bytes.size() - engine::kTableFooterBytes + 56)];
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
  TestNode node(options_of(3, IndexParts::automatic));
  create(node);
  fill(node, 0, 500);
  merge(node);
  EXPECT_EQ(formats(node), (Formats{{1, 1}})) << "it is small";
  int rows = 500;
  uint64_t whole = 0;
  for (; formats(node).count(3) == 0; rows += 2000) {
    whole = node.stats().metadata_bytes;
    ASSERT_LE(whole, kCacheBytes / engine::kWholeShare);
    ASSERT_LT(rows, 100'000);
    fill(node, rows, 2000);
    merge(node);
  }
  EXPECT_EQ(formats(node), (Formats{{3, 1}}));
  EXPECT_GT(whole, kCacheBytes / engine::kWholeShare / 2) << "and not before";
  EXPECT_LT(node.stats().metadata_bytes, whole / 8);
  EXPECT_EQ(node.cells("t").size(), static_cast<size_t>(rows));
  fill(node, rows, 1);
  ASSERT_TRUE(node.flush("t"));
  EXPECT_EQ(formats(node), (Formats{{1, 1}, {3, 1}})) << "a flush writes whole ones";
  // There is room again now, but not for the output of this merge.
  merge(node);
  EXPECT_EQ(formats(node), (Formats{{3, 1}}));
  EXPECT_EQ(node.cells("t").size(), static_cast<size_t>(rows) + 1);
}

TEST_F(Parts, AnOperatorMayHaveThemAlwaysOrNever) {
  for (const IndexParts wanted : {IndexParts::always, IndexParts::never}) {
    TestNode node(options_of(3, wanted));
    create(node);
    fill(node, 0, wanted == IndexParts::always ? 100 : 20'000);
    ASSERT_TRUE(node.flush("t"));
    fill(node, 50'000, 1);
    merge(node);
    EXPECT_EQ(formats(node), (Formats{{wanted == IndexParts::always ? 3u : 1u, 1}}));
  }
}

TEST_F(Parts, ADirectoryOfAnOlderFormatHoldsNone) {
  TestNode node(options_of(2, IndexParts::always));
  create(node);
  fill(node, 0, 1000);
  merge(node);
  EXPECT_EQ(formats(node), (Formats{{1, 1}}));
}

// Data many times the size of the cache: present rows are found and absent ones are not, whichever
// parts are in memory, and the total memory stays within the budget.
TEST_F(Parts, MemoryStaysWithinItsBudgetWhateverIsStored) {
  TestNode node(options_of(3, IndexParts::always));
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
    ASSERT_LE(stats.cache_bytes + stats.metadata_bytes, kCacheBytes);
  }
  EXPECT_LT(node.stats().metadata_bytes, kCacheBytes / 8);
}

}  // namespace
}  // namespace cellar::support
