// Splits, merges and moves, one property per test: their answers and refusals, their effect on
// data, blobs, stamps and logs. Random mixes are in reshape_random_test.cc.
#include "engine/node/reshape.h"

#include <gtest/gtest.h>

#include "engine/read/scan.h"
#include "io/sim/faulty_fs.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

TestNodeOptions sharded(uint32_t count) {
  TestNodeOptions options;
  options.shards = count;
  return options;
}

std::string row(int i) { return fmt::format("r{:03}", i); }

void fill(TestNode& node, int from, int to, const std::string& value) {
  for (int i = from; i < to; ++i) ASSERT_TRUE(node.set("t", row(i), "f:q", 5, value)) << i;
}

const std::vector<engine::TabletDescriptor>& tablets(TestNode& node) {
  return node.table("t")->tablets;
}

size_t blobs(TestNode& node) {
  node.world().run_for_us(1'000'000);
  size_t count = 0;
  for (const std::string& file : node.disk().all_files()) count += file.starts_with("blob/");
  return count;
}

// The manifest keeps all items of a tablet that moves, so the plan names each of its tables.
TEST(ReshapePlan, AMoveWithoutOneOfItsTablesIsOurOwnBug) {
  const engine::Catalog catalog(2);
  engine::Reshaping move;
  move.count = 1;
  move.ranges = {{"", ""}};
  move.to = ShardId{1};
  move.keeps_id = true;
  engine::QuiescedTablet parent;
  parent.id = TabletId{7};
  parent.blobs = {BlobId{1}, BlobId{2}};
  parent.parts.resize(1);
  parent.parts[0].resize(2);
  parent.parts[0][0].meta.blob = BlobId{1};
  parent.parts[0][1].meta.blob = BlobId{2};
  EXPECT_TRUE(engine::plan_edit(catalog, move, {parent}, {}));
  parent.parts[0].pop_back();
  EXPECT_DEATH((void)engine::plan_edit(catalog, move, {parent}, {}),
               "tablet 7 moves with 1 of its 2 tables");
}

TEST(Split, PutsTwoTabletsInThePlaceOfOneAndCopiesNothing) {
  TestNode node(sharded(2));
  ASSERT_TRUE(node.create_table("t", {"f"}));
  fill(node, 0, 20, "v");
  const auto before = node.cells("t");
  const engine::TabletDescriptor parent = tablets(node).front();
  const auto children = node.split(parent.id, row(10));
  ASSERT_TRUE(children) << children.error().to_string();
  ASSERT_EQ(children->size(), 2u);
  EXPECT_EQ(children->at(0).end, row(10));
  EXPECT_EQ(children->at(1).start, row(10));
  for (const auto& child : *children) {
    EXPECT_EQ(child.shard, parent.shard);
    EXPECT_EQ(child.epoch.value(), parent.epoch.value() + 1);
    EXPECT_NE(child.id, parent.id);
  }
  EXPECT_EQ(tablets(node).size(), 2u);
  EXPECT_EQ(node.cells("t"), before);
  EXPECT_EQ(blobs(node), 1u) << "one table, which both name";
  const auto figures = node.figures("t");
  EXPECT_LT(figures[0].bytes + figures[1].bytes, 3 * node.stats().table_bytes);
  fill(node, 5, 15, "newer");
  const auto after = node.cells("t");
  ASSERT_TRUE(node.close());
  ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
  EXPECT_EQ(node.cells("t"), after);
}

TEST(Split, ASharedBlobGoesWithTheLastTabletThatNamesIt) {
  for (const bool restart : {false, true}) {
    TestNode node(sharded(2));
    ASSERT_TRUE(node.create_table("t", {"f"}));
    fill(node, 0, 20, "v");
    const auto children = node.split(tablets(node).front().id, row(10));
    ASSERT_TRUE(children);
    ASSERT_TRUE(node.move(children->at(1).id, 1 - children->at(1).shard.value()));
    if (restart) {
      ASSERT_TRUE(node.close());
      ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
    }
    const auto expected = node.cells("t");
    const auto compact = [&node](size_t i) {
      const engine::TabletDescriptor tablet = tablets(node)[i];
      auto done = node.world().block_on(node.loop(tablet.shard.value()),
                                        node.node().engine(tablet.shard).compact(tablet.id));
      ASSERT_TRUE(done) << done.error().to_string();
    };
    EXPECT_EQ(blobs(node), 1u);
    compact(0);
    EXPECT_EQ(blobs(node), 2u) << "the right tablet still names it";
    EXPECT_EQ(node.cells("t"), expected);
    compact(1);
    EXPECT_EQ(blobs(node), 2u) << "each has its own";
    EXPECT_EQ(node.cells("t"), expected);
    ASSERT_TRUE(node.close());
    ASSERT_TRUE(node.reopen());
    EXPECT_EQ(node.node().recovery().orphans_removed, 0u);
    EXPECT_EQ(node.cells("t"), expected);
  }
}

TEST(Split, AReaderOfTheParentKeepsWhatItReadsThoughTheChildrenMergeItAway) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}));
  fill(node, 0, 20, "old");
  ReadSpec spec;
  spec.rows = RowSet::everything();
  const auto parent = tablets(node).front();
  auto cursor = node.node().engine(ShardId{0}).open_scan(parent.id, parent.epoch, spec);
  ASSERT_TRUE(cursor);
  ASSERT_TRUE(node.split(parent.id, row(10)));
  fill(node, 0, 20, "new");
  ASSERT_TRUE(node.compact("t"));
  EXPECT_EQ(node.cells("t").size(), 20u);
  EXPECT_GE(blobs(node), 2u);
  cursor->reset();
  EXPECT_EQ(blobs(node), 2u);
}

TEST(Split, WithoutARowCutsWhereHalfOfTheBytesAre) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}));
  fill(node, 0, 100, std::string(200, 'v'));
  fill(node, 100, 200, std::string(8'000, 'v'));
  ASSERT_TRUE(node.split(tablets(node).front().id));
  const std::string cut = tablets(node)[1].start;
  EXPECT_GT(cut, row(140));
  EXPECT_LT(cut, row(160));
  const auto figures = node.figures("t");
  EXPECT_LT(figures[0].bytes, 2 * figures[1].bytes);
  EXPECT_LT(figures[1].bytes, 2 * figures[0].bytes);
}

TEST(Split, OfATabletWithOneRowOrNoneIsRefused) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}, {"m"}));
  EXPECT_EQ(node.split(tablets(node)[0].id).error().code, Errc::failed_precondition);
  ASSERT_TRUE(node.set("t", "m", "f:q", 5, "the tablet's first row"));
  EXPECT_EQ(node.split(tablets(node)[1].id).error().code, Errc::failed_precondition);
}

TEST(Reshape, RefusalsNameWhatIsWrongAndChangeNothing) {
  TestNode node(sharded(2));
  ASSERT_TRUE(node.create_table("t", {"f"}, {"g", "m"}));
  const auto before = tablets(node);
  EXPECT_EQ(node.split(TabletId{99}, "a").error().code, Errc::not_found);
  EXPECT_EQ(node.split(before[1].id, "g").error().code, Errc::out_of_range);
  EXPECT_EQ(node.split(before[1].id, "m").error().code, Errc::out_of_range);
  EXPECT_EQ(node.split(before[1].id, std::string(4097, 'h')).error().code, Errc::invalid_argument);
  EXPECT_EQ(node.move(TabletId{99}, 0).error().code, Errc::not_found);
  EXPECT_EQ(node.move(before[1].id, 2).error().code, Errc::invalid_argument);
  EXPECT_EQ(node.merge(before[0].id, before[2].id).error().code, Errc::invalid_argument);
  EXPECT_EQ(node.merge(before[1].id, before[0].id).error().code, Errc::invalid_argument);
  EXPECT_EQ(node.merge(before[1].id, TabletId{99}).error().code, Errc::not_found);
  ASSERT_TRUE(node.move(before[1].id, before[1].shard.value())) << "it is there already";
  for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(tablets(node)[i].epoch, before[i].epoch);
}

TEST(Reshape, AnOldIdOrEpochIsAborted) {
  TestNode node(sharded(2));
  ASSERT_TRUE(node.create_table("t", {"f"}));
  fill(node, 0, 10, "v");
  const auto parent = tablets(node).front();
  const auto moved = node.move(parent.id, 1 - parent.shard.value());
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->id, parent.id);
  EXPECT_EQ(moved->epoch.value(), parent.epoch.value() + 1);
  ReadSpec spec;
  const auto stale = [&](ShardId shard, Epoch epoch) {
    return node.node().engine(shard).open_scan(parent.id, epoch, spec).error().code;
  };
  EXPECT_EQ(stale(parent.shard, parent.epoch), Errc::aborted);
  EXPECT_EQ(stale(moved->shard, parent.epoch), Errc::aborted);
  ASSERT_TRUE(node.split(parent.id, row(5)));
  EXPECT_EQ(stale(moved->shard, moved->epoch), Errc::aborted);
  EXPECT_EQ(node.begin_drop_rows(*moved, "a", "b")->write.error->code, Errc::aborted);
}

TEST(Move, ThereAndBackReplaysNothingOfEarlierEpochs) {
  TestNode node(sharded(2));
  ASSERT_TRUE(node.create_table("t", {"f"}));
  const TabletId id = tablets(node).front().id;
  const uint32_t home = tablets(node).front().shard.value();
  fill(node, 0, 10, "first");
  ASSERT_TRUE(node.move(id, 1 - home));
  fill(node, 0, 10, "second");
  ASSERT_TRUE(node.move(id, home));
  fill(node, 0, 5, "third");
  const auto before = node.cells("t");
  node.crash(CrashPolicy::none);
  ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
  EXPECT_EQ(node.node().recovery().replayed_commits, 5u);
  EXPECT_EQ(node.cells("t"), before);
}

TEST(Move, TheNumberOfShardsMayChangeAfterIt) {
  TestNode node(sharded(3));
  ASSERT_TRUE(node.create_table("t", {"f"}, {row(5), row(10), row(15)}));
  fill(node, 0, 20, "v");
  for (size_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(node.move(tablets(node)[i].id, static_cast<uint32_t>(i % 3)));
  }
  fill(node, 10, 20, "newer");
  const auto before = node.cells("t");
  for (const uint32_t count : {1u, 2u, 3u, 1u}) {
    node.crash(CrashPolicy::random_subset);
    ASSERT_TRUE(node.reopen(count)) << node.open_error()->to_string();
    EXPECT_EQ(node.cells("t"), before);
    const std::vector<engine::TabletDescriptor> all = tablets(node);  // moves change the map
    for (const auto& tablet : all) {
      const auto moved = node.move(tablet.id, count - 1);
      ASSERT_TRUE(moved) << count << ": " << moved.error().to_string();
    }
    EXPECT_EQ(node.cells("t"), before);
  }
}

TEST(Merge, WhatATabletHadDeletedDoesNotComeBackWithATableThatItsNeighbourKept) {
  TestNode node(sharded(2));
  ASSERT_TRUE(node.create_table("t", {"f"}));
  fill(node, 0, 30, "v");
  const auto children = node.split(tablets(node).front().id, row(10));
  ASSERT_TRUE(children);
  const auto right = node.split(children->at(1).id, row(20));
  ASSERT_TRUE(right);
  // The middle tablet drops all its rows and compacts.
  ASSERT_TRUE(node.drop_rows("t", row(10), row(20)));
  const engine::TabletDescriptor middle = right->at(0);
  ASSERT_TRUE(node.world().block_on(node.loop(middle.shard.value()),
                                    node.node().engine(middle.shard).compact(middle.id)));
  EXPECT_EQ(node.figures("t")[1].tables, 0u);
  const auto left = node.merge(children->at(0).id, middle.id);
  ASSERT_TRUE(left) << left.error().to_string();
  EXPECT_EQ(node.cells("t").size(), 20u);
  EXPECT_EQ(node.figures("t")[0].tables, 1u);
  // Now the same table on both sides, with a gap between.
  const auto whole = node.merge(left->id, right->at(1).id);
  ASSERT_TRUE(whole) << whole.error().to_string();
  EXPECT_EQ(node.cells("t").size(), 20u);
  EXPECT_EQ(tablets(node).size(), 1u);
  node.crash(CrashPolicy::none);
  ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
  EXPECT_EQ(node.cells("t").size(), 20u);
  ASSERT_TRUE(node.compact("t"));
  EXPECT_EQ(node.cells("t").size(), 20u);
  EXPECT_EQ(blobs(node), 1u);
}

TEST(Merge, OfTheTwoHalvesOfASplitIsWhatWasSplit) {
  TestNode node(sharded(3));
  ASSERT_TRUE(node.create_table("t", {"f"}));
  fill(node, 0, 20, "v");
  const auto before = node.cells("t");
  const auto children = node.split(tablets(node).front().id, row(10));
  ASSERT_TRUE(children);
  ASSERT_TRUE(node.move(children->at(1).id, 2));
  const auto whole = node.merge(children->at(0).id, children->at(1).id);
  ASSERT_TRUE(whole) << whole.error().to_string();
  EXPECT_EQ(whole->shard, children->at(0).shard);
  EXPECT_EQ(node.cells("t"), before);
  EXPECT_EQ(node.figures("t")[0].tables, 1u) << "one table again, in one piece";
  ASSERT_TRUE(node.close());
  ASSERT_TRUE(node.reopen());
  EXPECT_EQ(node.cells("t"), before);
  EXPECT_EQ(node.node().recovery().orphans_removed, 0u);
}

TEST(Merge, ARangeDeleteCoversOnlyTheRowsOfTheTabletThatItWasMadeIn) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}));
  fill(node, 0, 20, "v");
  ASSERT_TRUE(node.flush("t"));
  ASSERT_TRUE(node.drop_rows("t", row(5), row(15)));
  const auto children = node.split(tablets(node).front().id, row(10));
  ASSERT_TRUE(children);
  fill(node, 8, 12, "again");
  EXPECT_EQ(node.cells("t").size(), 14u);
  ASSERT_TRUE(node.merge(children->at(0).id, children->at(1).id));
  EXPECT_EQ(node.cells("t").size(), 14u);
  ASSERT_TRUE(node.compact("t"));
  EXPECT_EQ(node.cells("t").size(), 14u);
}

TEST(Reshape, StampsRiseOverSplitsMovesAndMergesThoughTheClockGoesBack) {
  TestNode node(sharded(2));
  ASSERT_TRUE(node.create_table("t", {"f"}));
  CommitStamp last;
  const auto write = [&] {
    const auto stamp = node.set("t", row(7), "f:q", 5, "v");
    ASSERT_TRUE(stamp);
    EXPECT_GT(*stamp, last);
    last = *stamp;
  };
  write();
  const auto children = node.split(tablets(node).front().id, row(5));
  ASSERT_TRUE(children);
  node.world().clock().set_wall_us(node.world().clock().wall_us() - 3'600'000'000);
  write();
  ASSERT_TRUE(node.move(children->at(1).id, 1 - children->at(1).shard.value()));
  write();
  ASSERT_TRUE(node.merge(children->at(0).id, children->at(1).id));
  write();
  EXPECT_EQ(node.figures("t")[0].last_stamp, last);
}

// How long writes were on hold, as announced to shard 0.
struct HoldWatch final : engine::TableMapWatcher {
  explicit HoldWatch(TestNode& to) : node(to) {}
  void table_map_changed() override {
    bool held = false;
    for (const auto& tablet : tablets(node)) held = held || tablet.held;
    const int64_t now_us = node.world().now_us();
    if (held && !since_us) {
      since_us = now_us;
      if (on_held) on_held();
    }
    if (!held && since_us) longest_us = std::max(longest_us, now_us - *since_us);
    if (!held) since_us.reset();
    ++changes;
  }
  TestNode& node;
  std::function<void()> on_held;
  std::optional<int64_t> since_us;
  int64_t longest_us = 0;
  int changes = 0;
};

TEST(Reshape, AHoldIsShortHoweverMuchThereIsToFlush) {
  TestNodeOptions options = sharded(2);
  options.min_latency_us = 100;
  options.max_latency_us = 300;
  TestNode node(options);
  ASSERT_TRUE(node.create_table("t", {"f"}));
  for (int i = 0; i < 90; ++i) fill(node, i, i + 1, std::string(9'000, 'v'));
  HoldWatch watch(node);
  node.node().watch_tables(ShardId{0}, &watch);
  ASSERT_TRUE(node.split(tablets(node).front().id));
  ASSERT_TRUE(node.move(tablets(node)[1].id, 1 - tablets(node)[1].shard.value()));
  ASSERT_TRUE(node.merge(tablets(node)[0].id, tablets(node)[1].id));
  EXPECT_GE(watch.changes, 4 * 3);
  EXPECT_GT(watch.longest_us, 0);
  EXPECT_LT(watch.longest_us, 15'000);
  node.node().watch_tables(ShardId{0}, nullptr);
}

TEST(Reshape, ThatDoesNotComeToRestInTimeIsGivenUpAndWritesGoOn) {
  FaultRules faults;
  TestNodeOptions options;
  options.wrap = [&faults](std::unique_ptr<FileSystem> inner, MemDisk&, SimLoop& loop) {
    return std::make_unique<FaultyFs>(loop.executor(), std::move(inner), faults, &loop.timers());
  };
  TestNode node(options);
  ASSERT_TRUE(node.create_table("t", {"f"}));
  fill(node, 0, 10, "v");
  ASSERT_TRUE(node.flush("t"));
  const auto before = tablets(node);
  // A write submitted just before the hold waits for a log that hangs.
  std::unique_ptr<PendingWrite> slow;
  HoldWatch watch(node);
  watch.on_held = [&] {
    ASSERT_TRUE(faults.add("write path=log/* delay_us=20000000"));
    std::vector<OwnedMutation> ops;
    ops.push_back(set_cell("f:q", 6, "slow"));
    slow = node.begin_write("t", row(3), std::move(ops));
  };
  node.node().watch_tables(ShardId{0}, &watch);
  const auto split = node.split(before.front().id, row(5));
  ASSERT_FALSE(split);
  EXPECT_EQ(split.error().code, Errc::deadline_exceeded) << split.error().to_string();
  faults.clear();
  EXPECT_TRUE(slow->acked());
  EXPECT_GT(watch.longest_us, 0);
  EXPECT_LE(watch.longest_us, engine::Reshape::kHoldUs + 100'000);
  watch.on_held = nullptr;
  EXPECT_EQ(tablets(node).size(), 1u);
  EXPECT_FALSE(tablets(node).front().held);
  fill(node, 0, 10, "goes on");
  EXPECT_EQ(node.cells("t").size(), 11u);
  ASSERT_TRUE(node.split(before.front().id, row(5)));
  node.node().watch_tables(ShardId{0}, nullptr);
}

TEST(Reshape, FiguresTellWhatATabletHoldsAndHowItIsUsed) {
  TestNode node(sharded(2));
  ASSERT_TRUE(node.create_table("t", {"f"}, {row(50)}));
  for (int round = 0; round < 4; ++round) fill(node, 0, 64, "v");
  auto figures = node.figures("t");
  ASSERT_EQ(figures.size(), 2u);
  EXPECT_EQ(figures[0].writes, 200u);
  EXPECT_EQ(figures[1].writes, 56u);
  EXPECT_EQ(figures[0].bytes, figures[0].unflushed_bytes);
  EXPECT_TRUE(figures[0].has_held_data);
  EXPECT_FALSE(figures[0].sampled_rows.empty());
  for (const std::string& sample : figures[0].sampled_rows) EXPECT_LT(sample, row(50));
  ASSERT_TRUE(node.flush("t"));
  figures = node.figures("t");
  EXPECT_EQ(figures[0].unflushed_bytes, 0u);
  EXPECT_EQ(figures[0].tables, 1u);
  EXPECT_GT(figures[0].bytes, 0u);
  (void)node.cells("t");
  EXPECT_EQ(node.figures("t")[0].reads, 1u);
}

}  // namespace
}  // namespace cellar::support
