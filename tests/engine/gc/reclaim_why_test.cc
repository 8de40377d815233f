// The reasons that a running node reports for dead bytes on disk; files that are not needed are not
// read.
#include <gtest/gtest.h>

#include "engine/node/reclaim_report.h"
#include "engine/read/scan.h"
#include "engine/shard/shard_engine.h"
#include "engine/store/blob/blob_files.h"
#include "io/sim/faulty_fs.h"
#include "io/sim/tracing_fs.h"
#include "tests/engine/gc/reclaim_bed.h"

namespace cellar::support {
namespace {

using engine::ReclaimFile;
using engine::ReclaimReason;
using engine::ReclaimReport;

class Why : public ReclaimBed {
 protected:
  Why() : ReclaimBed(traced(*this)) {}

  static TestNodeOptions traced(Why& test) {
    TestNodeOptions options = ReclaimBed::options();
    options.wrap = [&test](std::unique_ptr<FileSystem> inner, MemDisk&, SimLoop& loop) {
      auto faulty = std::make_unique<FaultyFs>(loop.executor(), std::move(inner), test.faults_,
                                               &loop.timers());
      return std::make_unique<TracingFs>(std::move(faulty), test.trace_);
    };
    return options;
  }

  // The only file that is reported.
  ReclaimFile only() {
    const ReclaimReport told = report();
    EXPECT_EQ(told.files.size(), 1u);
    EXPECT_EQ(told.files_there, told.files.size());
    return told.files.empty() ? ReclaimFile{} : told.files.front();
  }
  std::vector<ReclaimReason> reasons() {
    std::vector<ReclaimReason> all;
    for (const ReclaimFile& file : report().files) all.push_back(file.reason);
    return all;
  }
  void put(const std::string& row, size_t bytes, int64_t expire_at_us = kNoExpiry) {
    OwnedMutation op = set_cell("f:q", now_us(), std::string(bytes, 'v'));
    op.expire_at_us = expire_at_us;
    ASSERT_TRUE(node_.write("t", row, {op}));
  }
  std::unique_ptr<engine::ScanCursor> open_cursor() {
    ReadSpec spec;
    spec.rows = RowSet::everything();
    const engine::TabletDescriptor& tablet = node_.table("t")->tablets.front();
    auto cursor = node_.node().engine(tablet.shard).open_scan(tablet.id, tablet.epoch, spec);
    EXPECT_TRUE(cursor);
    return *std::move(cursor);
  }

  // Static, because the base class uses them and they must outlive the node.
  static inline FaultRules faults_;
  static inline Trace trace_;

  void SetUp() override {
    faults_.clear();
    trace_.lines.clear();
    trace_.with_reads = true;
  }
  void TearDown() override { faults_.clear(); }
};

TEST_F(Why, WhollyDeadFilesLeaveWithoutOneReadOfThem) {
  create(RetentionRule::max_age_us(kHourUs));
  for (int run = 0; run < 3; ++run) {
    for (int i = 0; i < 50; ++i) put(fmt::format("row{}-{:02}", run, i), 500);
    ASSERT_TRUE(node_.flush("t"));
  }
  ASSERT_EQ(tables(), 3u);
  ASSERT_TRUE(node_.close());
  ASSERT_TRUE(
      node_.reopen());  // nothing of them is in the cache; opening reads footers and metadata
  pass_exactly(kHourUs / 2);
  trace_.lines.clear();
  pass(kHourUs);
  EXPECT_EQ(tables(), 0u);
  size_t reads = 0;
  size_t removed = 0;
  for (const std::string& line : trace_.lines) {
    if (line.starts_with("read blob/")) ++reads;
    if (line.starts_with("remove blob/") && line.ends_with(".sst")) ++removed;
  }
  EXPECT_EQ(reads, 0u);
  EXPECT_EQ(removed, 3u) << trace_.text();
  EXPECT_TRUE(report().files.empty());
}

TEST_F(Why, AWhollyDeadFileWaitsForTheMarginAndThenGoes) {
  create(RetentionRule::max_age_us(kHourUs));
  put("a", 100);
  ASSERT_TRUE(node_.flush("t"));
  EXPECT_TRUE(report().files.empty());
  pass_exactly(kHourUs + kMinuteUs);
  const ReclaimFile file = only();
  EXPECT_EQ(file.reason, ReclaimReason::margin);
  EXPECT_TRUE(file.wholly_dead);
  EXPECT_EQ(file.dead_bytes, file.bytes);
  EXPECT_NEAR(static_cast<double>(file.until_us - now_us()), 4.0 * kMinuteUs, kMinuteUs);
  EXPECT_EQ(report().tables.front().missed_since_us, INT64_MAX);
  pass(10 * kMinuteUs);
  EXPECT_TRUE(report().files.empty());
}

TEST_F(Why, AFileThatMasksAnOlderOneNamesIt) {
  create(RetentionRule{});
  set("a", 5);
  set("z", 5);
  ASSERT_TRUE(node_.flush("t"));
  set("a", 5, now_us() + kHourUs);  // replaces it, and dies
  ASSERT_TRUE(node_.flush("t"));
  pass_exactly(kHourUs + kMinuteUs);
  EXPECT_EQ(reasons().front(), ReclaimReason::margin);
  faults_.add("write path=blob/* error=ENOSPC").value();  // so that the file stays
  pass_exactly(5 * kMinuteUs);
  const ReclaimReport told = report();
  ASSERT_FALSE(told.files.empty());
  // The merge that would remove it cannot write.
  EXPECT_EQ(told.files.front().reason, ReclaimReason::failed);
  EXPECT_NE(told.files.front().error.find("No space left"), std::string::npos)
      << told.files.front().error;
  EXPECT_GT(told.files.front().until_us, now_us());
  pass_exactly(2 * kHourUs);
  const engine::TableReclaim table = report().tables.front();
  EXPECT_LT(table.missed_since_us, now_us()) << "it should be gone by now";
  EXPECT_GT(table.missed_since_us, now_us() - 2 * kHourUs);
  faults_.clear();
  pass(kHourUs);
  EXPECT_TRUE(report().files.empty());
  EXPECT_EQ(report().tables.front().missed_since_us, INT64_MAX);
}

TEST_F(Why, WhatACursorReadsIsPinnedAndCounted) {
  create(RetentionRule::max_age_us(24 * kHourUs));
  for (int i = 0; i < 100; ++i) put(fmt::format("row{:02}", i), 400);
  ASSERT_TRUE(node_.flush("t"));
  put("row00", 400);
  ASSERT_TRUE(node_.flush("t"));
  auto first = open_cursor();
  auto second = open_cursor();
  EXPECT_TRUE(report().files.empty());
  ASSERT_TRUE(node_.compact("t"));
  const ReclaimReport told = report();
  ASSERT_EQ(told.files.size(), 2u) << "both inputs";
  for (const ReclaimFile& file : told.files) {
    EXPECT_EQ(file.reason, ReclaimReason::pinned_by_readers);
    EXPECT_EQ(file.count, 2u);
    EXPECT_EQ(file.since_us, now_us());
  }
  const uint64_t pinned = told.files[0].bytes + told.files[1].bytes;
  EXPECT_EQ(told.tables.front().figures.pinned_bytes, pinned);
  EXPECT_EQ(figures().pinned_bytes, pinned);
  EXPECT_EQ(told.tables.front().missed_since_us, INT64_MAX);
  first.reset();
  EXPECT_EQ(report().files.front().count, 1u);
  pass_exactly(2 * kHourUs);
  EXPECT_EQ(report().tables.front().missed_since_us, told.files[0].since_us + 65 * kMinuteUs)
      << "an hour of reclaim_within and the margin";
  second.reset();
  node_.world().run_until_idle();
  EXPECT_TRUE(report().files.empty());
  EXPECT_EQ(figures().pinned_bytes, 0u);
  EXPECT_EQ(report().tables.front().missed_since_us, INT64_MAX);
}

TEST_F(Why, WhatABackupCopiesIsPinnedByIt) {
  create(RetentionRule{});
  put("a", 400);
  ASSERT_TRUE(node_.flush("t"));
  put("a", 300);
  ASSERT_TRUE(node_.flush("t"));
  auto& shard = static_cast<engine::ShardEngine&>(node_.node().engine(ShardId{0}));
  shard.deleter().hold(std::nullopt);
  ASSERT_TRUE(node_.compact("t"));
  node_.world().run_until_idle();
  EXPECT_EQ(reasons(), (std::vector(2, ReclaimReason::pinned_by_backup)));
  EXPECT_GT(figures().pinned_bytes, 0u);
  shard.deleter().release();
  node_.world().run_until_idle();
  EXPECT_TRUE(report().files.empty());
}

TEST_F(Why, WhatTheDiskDoesNotRemoveStaysUntilTheNextStart) {
  create(RetentionRule{});
  put("a", 400);
  ASSERT_TRUE(node_.flush("t"));
  put("a", 300);
  ASSERT_TRUE(node_.flush("t"));
  faults_.add("remove path=blob/* error=EIO").value();
  ASSERT_TRUE(node_.compact("t"));
  node_.world().run_until_idle();
  EXPECT_EQ(reasons(), (std::vector(2, ReclaimReason::not_removed)));
  EXPECT_NE(report().files.front().error.find("(injected)"), std::string::npos);
  faults_.clear();
  ASSERT_TRUE(node_.close());
  ASSERT_TRUE(node_.reopen());
  EXPECT_TRUE(report().files.empty());
}

TEST_F(Why, AnUndoWindowHoldsWhatATighterRuleHides) {
  create(RetentionRule::max_age_us(100 * kHourUs), 3 * kHourUs);
  for (int i = 0; i < 20; ++i) put(fmt::format("row{:02}", i), 100);
  ASSERT_TRUE(node_.flush("t"));
  pass_exactly(2 * kHourUs);
  engine::TableChange change;
  change.name = "t";
  engine::FamilySpec& family = change.alter.emplace_back();
  family.name = "f";
  family.rule = RetentionRule::max_age_us(kHourUs);
  ASSERT_TRUE(node_.alter_table(change));
  const ReclaimFile file = only();
  EXPECT_EQ(file.reason, ReclaimReason::undo_window);
  EXPECT_GT(file.held_bytes, 0u);
  EXPECT_EQ(file.overdue_bytes, 0u);
  EXPECT_NEAR(static_cast<double>(file.until_us - now_us()), 3.0 * kHourUs, kMinuteUs);
  EXPECT_EQ(report().tables.front().missed_since_us, INT64_MAX);
  pass_exactly(4 * kHourUs);
  pass(kHourUs);
  EXPECT_TRUE(report().files.empty());
}

TEST_F(Why, OverdueWithinTheSlackSaysSo) {
  create(RetentionRule::max_age_us(2 * kHourUs));
  for (int64_t i = 0; i < 100; ++i) {
    set(fmt::format("row{:02}", i), now_us() - (99 - i) * kMinuteUs);
  }
  ASSERT_TRUE(node_.flush("t"));
  set_options(1);
  pass_exactly(100 * kMinuteUs);  // ages 100 to 199: 79 are dead, 14 of them overdue
  const ReclaimFile file = only();
  EXPECT_EQ(file.reason, ReclaimReason::within_slack);
  EXPECT_GT(file.overdue_bytes, 0u);
  EXPECT_LT(file.overdue_bytes, file.dead_bytes);
  EXPECT_GT(file.until_us, now_us());
  EXPECT_FALSE(file.wholly_dead);
  EXPECT_EQ(report().tables.front().missed_since_us, INT64_MAX);
}

TEST_F(Why, WhereASplitLeavesAFileToOneHalfTheOtherHalfIsToldOf) {
  create(RetentionRule{});
  for (int i = 0; i < 400; ++i) put(fmt::format("row{:03}", i), 400);
  ASSERT_TRUE(node_.flush("t"));
  const auto halves = node_.split(node_.table("t")->tablets.front().id, "row200");
  ASSERT_TRUE(halves);
  EXPECT_TRUE(report().files.empty()) << "both halves are named";
  auto& shard = static_cast<engine::ShardEngine&>(node_.node().engine(ShardId{0}));
  ASSERT_TRUE(node_.world().block_on(node_.loop(0), shard.compact((*halves)[0].id)));
  node_.world().run_until_idle();
  const ReclaimFile file = only();
  EXPECT_EQ(file.reason, ReclaimReason::shared);
  EXPECT_EQ(file.tablet, (*halves)[1].id);
  EXPECT_EQ(file.count, 1u);
  EXPECT_NEAR(static_cast<double>(file.dead_bytes), static_cast<double>(file.bytes) / 2,
              static_cast<double>(file.bytes) / 8);
  ASSERT_TRUE(node_.world().block_on(node_.loop(0), shard.compact((*halves)[1].id)));
  node_.world().run_until_idle();
  EXPECT_TRUE(report().files.empty());
}

TEST_F(Why, OneTableOrAllAndNoMoreFilesThanAskedFor) {
  create(RetentionRule::max_age_us(kHourUs));
  ASSERT_TRUE(node_.create_table("u", {"f"}));
  for (int i = 0; i < 3; ++i) {
    put("a", 10);
    ASSERT_TRUE(node_.flush("t"));
  }
  pass_exactly(kHourUs + kMinuteUs);
  const ReclaimReport all = report();
  ASSERT_EQ(all.tables.size(), 2u);
  EXPECT_EQ(all.tables[0].name, "t");
  EXPECT_EQ(all.shards.size(), 1u);
  EXPECT_EQ(all.shards[0].dead_bytes, all.tables[0].figures.dead_bytes);
  EXPECT_EQ(all.files_there, 3u);
  ASSERT_EQ(all.reasons.size(), 1u);
  EXPECT_EQ(all.reasons[0].files, 3u);
  const ReclaimReport two = report(2);
  EXPECT_EQ(two.files.size(), 2u);
  EXPECT_EQ(two.files_there, 3u);
  EXPECT_TRUE(report(0).files.empty());
  EXPECT_EQ(report(0).tables[0].figures, all.tables[0].figures);
  const auto one = node_.world().block_on(
      node_.loop(0), node_.node().reclaim_report(ShardId{0}, {node_.table("u")->schema.id, 10}));
  ASSERT_TRUE(one);
  EXPECT_EQ(one->tables.size(), 1u);
  EXPECT_TRUE(one->files.empty());
  const auto none = node_.world().block_on(
      node_.loop(0), node_.node().reclaim_report(ShardId{0}, {TableId{999}, 10}));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Errc::not_found);
}

}  // namespace
}  // namespace cellar::support
