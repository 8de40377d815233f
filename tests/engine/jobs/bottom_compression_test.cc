// Which tables Zstandard compresses: those at the bottom, if the option says so or if it pays.
#include <gtest/gtest.h>

#include <map>

#include "engine/backup/backup.h"
#include "engine/jobs/output_format.h"
#include "engine/sstable/table_meta.h"
#include "engine/store/blob/blob_files.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

using CompressionCounts = std::map<Compression, int>;

// How many tables on disk have each compression.
CompressionCounts compressions(TestNode& node) {
  CompressionCounts counts;
  for (const std::string& file : node.disk().all_files()) {
    const auto name =
        file.starts_with("blob/") ? engine::parse_blob_file(file.substr(5)) : std::nullopt;
    if (!name || !name->sealed) continue;
    const std::string bytes = node.disk().read_all(file).value();
    const Bytes tail = Bytes(bytes).substr(bytes.size() - engine::kTableFooterBytes);
    const auto footer = engine::decode_table_footer(tail, name->id, bytes.size());
    EXPECT_TRUE(footer) << footer.error().message;
    const engine::BlockHandle at = footer->meta;
    const auto block =
        engine::read_block(Bytes(bytes).substr(at.offset, at.size), name->id, at.offset);
    ++counts[engine::decode_table_meta(block.value())->compression];
  }
  return counts;
}

class Bottom : public testing::Test {
 protected:
  static constexpr uint64_t kCacheBytes = 2u << 20;

  static TestNodeOptions small_cache() {
    TestNodeOptions options;
    options.engine.memory_bytes = 4 * kCacheBytes;
    options.engine.memtable_bytes = 256u << 10;
    options.engine.table_bytes = 64u << 20;
    return options;
  }
  static Result<engine::TableEntry> create(TestNode& node, BottomCompression bottom,
                                           Compression compression = Compression::lz4) {
    TableOptions options{.durability = Durability::memory, .compression = compression};
    options.bottom_compression = bottom;
    return node.create_table("t", {"f"}, {}, options);
  }
  static void fill(TestNode& node, const std::string& prefix, int rows, size_t bytes = 100) {
    Random random(1);
    std::string value(bytes, ' ');
    for (int i = 0; i < rows; ++i) {
      for (char& c : value) c = static_cast<char>('a' + random.below(8));
      ASSERT_TRUE(node.set("t", fmt::format("{}{:06}", prefix, i), "f:q", 1000, value));
    }
  }
  // Flushes 1.5 times the size of the shard's cache; `read`: then reads it.
  static void fill_much(TestNode& node, bool read) {
    for (int i = 0; node.stats().table_bytes < kCacheBytes * 3 / 2; ++i) {
      fill(node, fmt::format("{:04}/", i), 16, 16 * 1024);
      ASSERT_TRUE(node.flush("t"));
    }
    node.world().run_for_us(10'000'000);
    if (read) node.cells("t");
  }
  // Adds one more row and merges everything.
  static CompressionCounts merge_all(TestNode& node) {
    engine::TableChange change;
    change.name = "t";
    change.options.bottom_compression = BottomCompression::automatic;
    EXPECT_TRUE(node.alter_table(change));
    EXPECT_TRUE(node.set("t", "zzz", "f:q", 1, "new"));
    EXPECT_TRUE(node.flush("t"));
    EXPECT_TRUE(node.compact("t"));
    node.world().run_for_us(1'000'000);
    return compressions(node);
  }
};

TEST_F(Bottom, AnOptionPacksItAndACompactionMakesUpForWhatIsThere) {
  TestNode node;
  ASSERT_TRUE(create(node, BottomCompression::automatic));
  fill(node, "a", 500);
  ASSERT_TRUE(node.flush("t"));
  fill(node, "b", 500);
  ASSERT_TRUE(node.flush("t"));
  ASSERT_TRUE(node.compact("t"));
  node.world().run_for_us(1'000'000);
  EXPECT_EQ(compressions(node), (CompressionCounts{{Compression::lz4, 1}}))
      << "small ones stay as they are";
  EXPECT_EQ(node.figures("t").at(0).zstd_bytes, 0u);
  const auto before = node.cells("t");
  engine::TableChange change;
  change.name = "t";
  change.options.bottom_compression = BottomCompression::zstd;
  ASSERT_TRUE(node.alter_table(change));
  ASSERT_TRUE(node.compact("t"));
  node.world().run_for_us(1'000'000);
  EXPECT_EQ(compressions(node), (CompressionCounts{{Compression::zstd, 1}}));
  EXPECT_EQ(node.figures("t").at(0).zstd_bytes, node.stats().table_bytes);
  const auto files = node.disk().all_files();
  ASSERT_TRUE(node.compact("t"));
  EXPECT_EQ(node.disk().all_files(), files) << "there is nothing to do any more";
  EXPECT_EQ(node.cells("t"), before);
  node.crash(CrashPolicy::none);
  ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
  EXPECT_EQ(node.cells("t"), before);
  fill(node, "c", 100);
  ASSERT_TRUE(node.flush("t"));
  EXPECT_EQ(compressions(node), (CompressionCounts{{Compression::lz4, 1}, {Compression::zstd, 1}}))
      << "a flush is quick";
  change.options.bottom_compression = BottomCompression::same;
  ASSERT_TRUE(node.alter_table(change));
  ASSERT_TRUE(node.compact("t"));
  node.world().run_for_us(1'000'000);
  EXPECT_EQ(compressions(node), (CompressionCounts{{Compression::lz4, 1}}));
}

TEST_F(Bottom, WhatIsNotCompressedStaysSo) {
  TestNode node;
  ASSERT_TRUE(create(node, BottomCompression::zstd, Compression::none));
  fill(node, "a", 100);
  ASSERT_TRUE(node.flush("t"));
  fill(node, "b", 100);
  ASSERT_TRUE(node.compact("t"));
  node.world().run_for_us(1'000'000);
  EXPECT_EQ(compressions(node), (CompressionCounts{{Compression::none, 1}}));
}

TEST_F(Bottom, ByItselfItIsChosenForWhatIsLargeAndNotHot) {
  for (const bool read : {false, true}) {
    SCOPED_TRACE(read);
    TestNode node(small_cache());
    ASSERT_TRUE(create(node, BottomCompression::same));
    fill_much(node, read);
    EXPECT_EQ(compressions(node).count(Compression::zstd), 0u);
    EXPECT_EQ(node.stats().cache_bytes > kCacheBytes / 2, read);
    const size_t rows = node.cells("t").size();
    if (!read) ASSERT_TRUE(node.close() && node.reopen());  // empties the cache
    EXPECT_EQ(merge_all(node),
              (CompressionCounts{{read ? Compression::lz4 : Compression::zstd, 1}}));
    EXPECT_EQ(node.cells("t").size(), rows + 1);
  }
}

TEST_F(Bottom, ATableOfABackupKeepsItsCompressionAndItsOptions) {
  MemDisk backups;
  engine::BackupProgress progress;
  std::vector<OwnedCell> cells;
  const auto store_of = [&](TestNode& node, auto work) {
    MemFs fs(node.loop(0).executor(), backups);
    const auto store = engine::make_local_backup_store(fs);
    return node.world().block_on(node.loop(0), work(*store));
  };
  int64_t wall_us = 0;
  {
    TestNode node;
    ASSERT_TRUE(create(node, BottomCompression::zstd));
    fill(node, "a", 500);
    ASSERT_TRUE(node.flush("t"));
    ASSERT_TRUE(node.compact("t"));
    engine::TableChange change;
    change.name = "t";
    change.options.compaction = Compaction::tiered;
    ASSERT_TRUE(node.alter_table(change));
    ASSERT_EQ(compressions(node).count(Compression::zstd), 1u);
    cells = node.cells("t");
    const auto done = store_of(node, [&](engine::BackupStore& store) {
      return node.node().back_up(ShardId{0}, store, {"b", {}, std::string(32, 'f'), "test"},
                                 progress);
    });
    ASSERT_TRUE(done) << done.error().message;
    wall_us = node.clock_report().wall_us;
  }
  TestNodeOptions options;
  options.start_wall_us = wall_us + 60'000'000;
  TestNode other(options);
  const auto restored = store_of(other, [&](engine::BackupStore& store) {
    return other.node().restore_backup(ShardId{0}, store, {"b", "t", "t"}, other.author, progress);
  });
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(restored->schema.options.compaction, Compaction::tiered);
  EXPECT_EQ(restored->schema.options.bottom_compression, BottomCompression::zstd);
  EXPECT_EQ(compressions(other), (CompressionCounts{{Compression::zstd, 1}}));
  EXPECT_EQ(other.cells("t"), cells);
}

}  // namespace
}  // namespace cellar::support
