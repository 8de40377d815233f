// A whole node in memory: tables, commits, reads, flushes and restarts.
#include <gtest/gtest.h>

#include "engine/catalog/catalog.h"
#include "engine/read/scan.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

std::vector<OwnedCell> one_cell(std::string row, std::string qualifier, int64_t t,
                                std::string value) {
  return {{std::move(row), "f", std::move(qualifier), t, std::move(value)}};
}

TEST(Node, WhatIsWrittenIsReadBack) {
  TestNode node;
  ASSERT_FALSE(node.open_error()) << node.open_error()->to_string();
  ASSERT_TRUE(node.create_table("t", {"f"}));
  ASSERT_TRUE(node.set("t", "row", "f:q", 5, "value"));
  EXPECT_EQ(node.cells("t"), one_cell("row", "q", 5, "value"));
}

TEST(Node, ReopenedAfterACloseItHoldsTheSame) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}));
  ASSERT_TRUE(node.set("t", "row", "f:q", 5, "value"));
  ASSERT_TRUE(node.close());
  ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
  EXPECT_EQ(node.cells("t"), one_cell("row", "q", 5, "value"));
}

TEST(Node, ReopenedAfterAPowerCutItHoldsWhatWasAcknowledged) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}));
  ASSERT_TRUE(node.set("t", "row", "f:q", 5, "value"));
  node.crash(CrashPolicy::none);
  ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
  EXPECT_EQ(node.cells("t"), one_cell("row", "q", 5, "value"));
  EXPECT_EQ(node.node().recovery().replayed_commits, 1u);
}

TEST(Node, AFlushMovesCommitsToATableAndChangesNoAnswer) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}));
  ASSERT_TRUE(node.set("t", "row", "f:q", 5, "value"));
  ASSERT_TRUE(node.flush("t"));
  EXPECT_EQ(node.stats().tables_on_disk, 1u);
  EXPECT_EQ(node.stats().memtable_bytes, 0u);
  EXPECT_EQ(node.cells("t"), one_cell("row", "q", 5, "value"));
}

std::string key_of(int i) {
  std::string digits = std::to_string(i);
  return "r" + std::string(5 - digits.size(), '0') + digits;
}

void fill_rows(TestNode& node, int from, int to, const std::string& value) {
  std::vector<std::unique_ptr<PendingWrite>> writes;
  for (int i = from; i < to; ++i) {
    std::vector<OwnedMutation> ops;
    ops.push_back(set_cell("f:q", 7, value));
    writes.push_back(node.begin_write("t", key_of(i), std::move(ops)));
    if (writes.size() < 64) continue;
    for (const auto& write : writes) node.wait(*write);
    writes.clear();
  }
  for (const auto& write : writes) {
    node.wait(*write);
    ASSERT_TRUE(write->acked()) << write->write.error->to_string();
  }
}

TEST(Node, AnotherNumberOfShardsFindsTheSameData) {
  TestNode node({});
  ASSERT_TRUE(node.create_table("t", {"f"}, {"r00030", "r00060", "r00090"}));
  fill_rows(node, 0, 120, "one shard");
  const auto before = node.cells("t");
  ASSERT_EQ(before.size(), 120u);
  for (const uint32_t shards : {3u, 2u, 1u}) {
    node.crash(CrashPolicy::none);
    ASSERT_TRUE(node.reopen(shards)) << node.open_error()->to_string();
    EXPECT_EQ(node.cells("t"), before) << shards << " shards";
    fill_rows(node, 0, 40, "again");
    fill_rows(node, 0, 40, "one shard");
    EXPECT_EQ(node.cells("t"), before) << shards << " shards, written again";
  }
}

TEST(Node, ARangeDeleteHidesWhatWasThereAndNothingWrittenLater) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}, {"r00005"}));
  fill_rows(node, 0, 10, "old");
  ASSERT_TRUE(node.drop_rows("t", "r00003", "r00008"));
  fill_rows(node, 4, 5, "new");
  const auto expected = node.cells("t");
  ASSERT_EQ(expected.size(), 6u);
  EXPECT_EQ(expected[3].value, "new");
  ASSERT_TRUE(node.flush("t"));
  EXPECT_EQ(node.cells("t"), expected);
  ASSERT_TRUE(node.compact("t"));
  EXPECT_EQ(node.cells("t"), expected);
  node.crash(CrashPolicy::none);
  ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
  EXPECT_EQ(node.cells("t"), expected);
}

TEST(Node, ARangeDeleteThatWasFlushedStillHidesWhatWasFlushedBefore) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}));
  fill_rows(node, 0, 10, "old");
  ASSERT_TRUE(node.flush("t"));
  ASSERT_TRUE(node.drop_rows("t", "r00003", ""));
  ASSERT_TRUE(node.flush("t"));
  EXPECT_EQ(node.cells("t").size(), 3u);
  node.crash(CrashPolicy::none);
  ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
  EXPECT_EQ(node.cells("t").size(), 3u);
  ASSERT_TRUE(node.compact("t"));
  EXPECT_EQ(node.cells("t").size(), 3u);
  EXPECT_EQ(node.stats().tables_on_disk, 1u);
}

TEST(Node, ACompactionLeavesOneRunAndTheBlobsOfTheOthersGo) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}));
  for (int round = 0; round < 4; ++round) {
    fill_rows(node, 0, 20, "round " + std::to_string(round));
    ASSERT_TRUE(node.flush("t"));
  }
  EXPECT_EQ(node.stats().tables_on_disk, 4u);
  const auto before = node.cells("t");
  ASSERT_TRUE(node.compact("t"));
  EXPECT_EQ(node.cells("t"), before);
  EXPECT_EQ(node.stats().tables_on_disk, 1u);
  node.world().run_for_us(1'000'000);
  size_t blobs = 0;
  for (const std::string& file : node.disk().all_files()) blobs += file.starts_with("blob/");
  EXPECT_EQ(blobs, 1u);
}

TEST(Node, ManyFlushesAreCompactedInTheBackground) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}));
  for (int round = 0; round < 40; ++round) {
    fill_rows(node, 0, 10, "round " + std::to_string(round));
    ASSERT_TRUE(node.flush("t"));
  }
  node.world().run_for_us(1'000'000);
  EXPECT_LT(node.stats().tables_on_disk, 20u);
  EXPECT_GT(node.stats().compactions, 0u);
  EXPECT_EQ(node.cells("t").size(), 10u);
}

TEST(Node, ADeleteThatWasMergedWithNewerRunsStillHidesWhatLiesInOlderOnes) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}));
  fill_rows(node, 0, 200, std::string(2'000, 'v'));  // one large, old run
  ASSERT_TRUE(node.flush("t"));
  for (int i = 0; i < 40; ++i) {
    std::vector<OwnedMutation> ops;
    ops.push_back(delete_row());
    ASSERT_TRUE(node.write("t", key_of(i), std::move(ops)));
    ASSERT_TRUE(node.drop_rows("t", key_of(100 + i), key_of(101 + i)));
    ASSERT_TRUE(node.flush("t"));
  }
  node.world().run_for_us(1'000'000);
  ASSERT_GT(node.stats().compactions, 0u);
  ASSERT_GT(node.stats().tables_on_disk, 1u) << "the old run was merged too; make it larger";
  EXPECT_EQ(node.cells("t").size(), 120u);
}

// When dropped, it is removed at once (see drop_test.cc).
engine::TableSpec without_undo(std::vector<std::string> splits) {
  engine::TableSpec spec;
  spec.name = "t";
  spec.granularity = Granularity::micros;
  spec.splits = std::move(splits);
  spec.families.emplace_back().name = "f";
  spec.families[0].undo_window_us = 0;
  return spec;
}

TEST(Node, ADroppedTableIsGoneItsBlobsTooAndItsNameIsFree) {
  TestNode node({});
  ASSERT_TRUE(node.create_table(without_undo({"r00005"})));
  fill_rows(node, 0, 10, "old");
  ASSERT_TRUE(node.flush("t"));
  fill_rows(node, 0, 10, "newer");
  ASSERT_TRUE(node.drop_table("t"));
  EXPECT_EQ(node.table("t"), nullptr);
  EXPECT_EQ(node.drop_table("t").error().code, Errc::not_found);
  node.world().run_for_us(1'000'000);
  for (const std::string& file : node.disk().all_files()) EXPECT_FALSE(file.starts_with("blob/"));
  ASSERT_TRUE(node.create_table("t", {"f"}));
  EXPECT_TRUE(node.cells("t").empty());
  node.crash(CrashPolicy::none);
  ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
  EXPECT_TRUE(node.cells("t").empty());
}

TEST(Node, AReaderKeepsTheTablesOfADroppedTableUntilItLetsGo) {
  TestNode node;
  ASSERT_TRUE(node.create_table(without_undo({})));
  fill_rows(node, 0, 10, "old");
  ASSERT_TRUE(node.flush("t"));
  ReadSpec spec;
  spec.rows = RowSet::everything();
  const auto tablet = node.table("t")->tablets.front();
  auto cursor = node.node().engine(ShardId{0}).open_scan(tablet.id, tablet.epoch, spec);
  ASSERT_TRUE(cursor);
  ASSERT_TRUE(node.drop_table("t"));
  node.world().run_for_us(1'000'000);
  const auto has_blobs = [&] {
    for (const std::string& file : node.disk().all_files()) {
      if (file.starts_with("blob/")) return true;
    }
    return false;
  };
  EXPECT_TRUE(has_blobs());
  cursor->reset();
  node.world().run_for_us(1'000'000);
  EXPECT_FALSE(has_blobs());
}

TEST(Node, RefusalsOfTheCatalogNameTheBound) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}));
  EXPECT_EQ(node.create_table("t", {"f"}).error().code, Errc::already_exists);
  EXPECT_EQ(node.create_table("a b", {"f"}).error().code, Errc::invalid_argument);
  EXPECT_EQ(node.create_table("u", {"f", "f"}).error().code, Errc::invalid_argument);
  EXPECT_EQ(node.create_table("u", {"f"}, {""}).error().code, Errc::invalid_argument);
  const std::vector<std::string> many(engine::kMaxSplits + 1, "x");
  EXPECT_EQ(node.create_table("u", {"f"}, many).error().code, Errc::invalid_argument);
  const auto entry = node.create_table("u", {}, {"m", "c", "m"});
  ASSERT_TRUE(entry) << "no families, splits in any order";
  EXPECT_EQ(entry->tablets.size(), 3u);
}

TEST(Node, AWriteForAnotherEpochOrAnUnknownTabletIsAborted) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}));
  engine::TabletDescriptor tablet = node.table("t")->tablets.front();
  tablet.epoch = Epoch{9};
  auto refused = node.begin_drop_rows(tablet, "a", "b");
  ASSERT_TRUE(refused->finished);
  EXPECT_EQ(refused->write.error->code, Errc::aborted);
  tablet.id = TabletId{999};
  refused = node.begin_drop_rows(tablet, "a", "b");
  ASSERT_TRUE(refused->finished);
  EXPECT_EQ(refused->write.error->code, Errc::aborted);
}

TEST(Node, AStartAfterACloseReplaysNothingAndOldLogsGo) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}));
  fill_rows(node, 0, 50, "v");
  ASSERT_TRUE(node.close());
  ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
  EXPECT_EQ(node.node().recovery().replayed_commits, 0u);
  node.world().run_for_us(1'000'000);
  for (const std::string& file : node.disk().all_files()) {
    if (file.starts_with("log/") && !file.ends_with(".spare"))
      EXPECT_NE(file.find("20000"), std::string::npos) << file;
  }
}

TEST(Node, ARestartStormGrowsNeitherLogNorTables) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}));
  fill_rows(node, 0, 200, "v");
  const auto before = node.cells("t");
  uint64_t most = 0;
  for (int i = 0; i < 30; ++i) {
    node.crash(CrashPolicy::random_subset);
    ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
    EXPECT_EQ(node.cells("t"), before);
    if (i == 5) most = node.disk().all_files().size();
  }
  node.world().run_for_us(1'000'000);
  EXPECT_LE(node.disk().all_files().size(), most);
}

// A node that stops calls off a compaction that somebody waits for, and loses nothing.
TEST(Node, ACompactionIsCalledOffAtTheEnd) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}));
  fill_rows(node, 0, 50, "v");
  ASSERT_TRUE(node.flush("t"));
  fill_rows(node, 50, 100, "v");
  ASSERT_TRUE(node.flush("t"));
  const auto before = node.cells("t");
  node.node().engine(ShardId{0}).end_waits();
  const auto compacted = node.compact("t");
  ASSERT_FALSE(compacted);
  EXPECT_EQ(compacted.error().code, Errc::cancelled);
  node.world().run_for_us(10'000'000);
  EXPECT_EQ(node.cells("t"), before);
  ASSERT_TRUE(node.close());
  ASSERT_TRUE(node.reopen());
  EXPECT_EQ(node.cells("t"), before);
  EXPECT_TRUE(node.compact("t"));
}

}  // namespace
}  // namespace cellar::support
