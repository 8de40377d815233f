// A tablet merged by ranges of its rows: which ranges there are, what such a merge takes and
// leaves, and that no answer depends on it.
#include "engine/merge_ranges.h"

#include <gtest/gtest.h>

#include <set>

#include "engine/shard_engine.h"
#include "tests/support/retention_model.h"
#include "tests/support/seeds.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

constexpr int64_t kStartUs = 1'000'000'000;
constexpr int kRows = 120;

std::string row_of(uint64_t i) { return fmt::format("row{:03}", i); }

// A node of one tablet of a table "t", and what is underneath.
class Ranges {
 public:
  explicit Ranges(TestNodeOptions options) : node(std::move(options)) {}

  engine::ShardEngine& shard() {
    return static_cast<engine::ShardEngine&>(node.node().engine(ShardId{0}));
  }
  TabletId id() { return node.table("t")->tablets.front().id; }
  engine::Tablet& tablet() { return *shard().tablets().at(id()); }
  const std::vector<engine::TabletRun>& runs() { return tablet().version().runs; }
  Result<void> merge(size_t range, size_t first) {
    return node.world().block_on(node.loop(0), shard().compact_range(id(), range, first));
  }
  std::vector<KeyRange> ranges() {
    return engine::ranges_between(engine::clean_cuts(runs(), tablet().cuts()));
  }
  // How many tables of each run, newest first.
  std::vector<size_t> tables() {
    std::vector<size_t> counts;
    for (const engine::TabletRun& run : runs()) counts.push_back(run.tables.size());
    return counts;
  }
  // What must be true of every version: each table in one range, and those of a run apart.
  void check() {
    const auto clean = engine::clean_cuts(runs(), tablet().cuts());
    const std::vector<KeyRange> ranges = engine::ranges_between(clean);
    size_t found = 0;
    for (const KeyRange& range : ranges) {
      const engine::RangeTables part = engine::tables_in(runs(), range);
      EXPECT_TRUE(part.whole);
      for (const engine::TabletRun& run : part.runs) {
        found += run.tables.size();
        for (const auto& table : run.tables) EXPECT_TRUE(ranges[range_of(*table, clean)] == range);
      }
    }
    size_t all = 0;
    uint64_t newer = UINT64_MAX;
    for (const engine::TabletRun& run : runs()) {
      EXPECT_LT(run.number, newer);
      newer = run.number;
      all += run.tables.size();
      std::string last;
      for (const auto& table : run.tables) {
        if (!table->slice().may_have_entries()) continue;
        EXPECT_LT(last, std::string(table->slice().first()));
        last = table->meta().largest_key;
      }
    }
    EXPECT_EQ(found, all);
  }

  TestNode node;
};

TestNodeOptions options() {
  TestNodeOptions options;
  options.start_wall_us = kStartUs;
  options.engine.removal_margin_us = 0;
  return options;
}

class MergeRanges : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(bed_.node.create_table("t", {"f"})); }
  // Every `step`-th row, flushed.
  void fill(int step, const std::string& value) {
    for (int i = 0; i < kRows; i += step)
      ASSERT_TRUE(bed_.node.set("t", row_of(static_cast<uint64_t>(i)), "f:q", 5,
                                value + std::string(400, '.')));
    ASSERT_TRUE(bed_.node.flush("t"));
  }

  Ranges bed_{options()};
};

TEST_F(MergeRanges, WhatIsWrittenAfterwardsIsCutAndAMergeOfAllMakesThemClean) {
  fill(1, "a");
  EXPECT_EQ(bed_.tables(), (std::vector<size_t>{1}));
  bed_.shard().cut(bed_.id(), 4);
  ASSERT_EQ(bed_.tablet().cuts().size(), 3u);
  EXPECT_EQ(bed_.ranges().size(), 1u) << "a table lies across all of them";
  fill(2, "b");
  EXPECT_EQ(bed_.tables(), (std::vector<size_t>{4, 1}));
  EXPECT_EQ(bed_.ranges().size(), 1u);
  ASSERT_TRUE(bed_.merge(0, 0));
  EXPECT_EQ(bed_.tables(), (std::vector<size_t>{4}));
  EXPECT_EQ(bed_.ranges().size(), 4u);
  bed_.check();
}

TEST_F(MergeRanges, OneIsMergedAndTheOthersStayAsTheyAre) {
  fill(1, "a");
  bed_.shard().cut(bed_.id(), 4);
  fill(2, "b");
  ASSERT_TRUE(bed_.merge(0, 0));
  fill(2, "c");
  fill(3, "d");
  ASSERT_EQ(bed_.tables(), (std::vector<size_t>{4, 4, 4}));
  const auto before = bed_.node.cells("t");
  const uint64_t oldest = bed_.runs().back().number;
  std::set<BlobId> others;
  for (const engine::TabletRun& run : bed_.runs())
    for (size_t i : {0, 2, 3}) others.insert(run.tables[i]->blob());
  ASSERT_TRUE(bed_.merge(1, 0));
  EXPECT_EQ(bed_.tables(), (std::vector<size_t>{3, 3, 4}));
  EXPECT_EQ(bed_.runs().back().number, oldest) << "what comes of it joins the oldest";
  std::set<BlobId> left;
  for (const engine::TabletRun& run : bed_.runs())
    for (const auto& table : run.tables) left.insert(table->blob());
  EXPECT_TRUE(std::includes(left.begin(), left.end(), others.begin(), others.end()));
  EXPECT_EQ(bed_.node.cells("t"), before);
  bed_.check();
  // What it killed has left the disk.
  const uint64_t entries = bed_.runs().back().tables[1]->meta().entries;
  EXPECT_GE(entries, static_cast<uint64_t>(kRows) / 8);
  EXPECT_LE(entries, static_cast<uint64_t>(kRows) / 3) << "each row once";
  for (const size_t range : {3, 0, 2}) ASSERT_TRUE(bed_.merge(range, 0));
  EXPECT_EQ(bed_.tables(), (std::vector<size_t>{4}));
  EXPECT_EQ(bed_.node.cells("t"), before);
}

TEST_F(MergeRanges, FromAnOlderRunOnTheNewerStayAboveWhatComesOfIt) {
  fill(1, "a");
  bed_.shard().cut(bed_.id(), 2);
  fill(1, "b");
  ASSERT_TRUE(bed_.merge(0, 0));
  fill(1, "c");
  fill(1, "d");
  ASSERT_TRUE(bed_.merge(0, 1));
  EXPECT_EQ(bed_.tables(), (std::vector<size_t>{2, 1, 2}));
  for (const OwnedCell& cell : bed_.node.cells("t")) EXPECT_EQ(cell.value[0], 'd') << cell.row;
  ASSERT_TRUE(bed_.merge(0, 0));
  EXPECT_EQ(bed_.tables(), (std::vector<size_t>{1, 1, 2}));
  for (const OwnedCell& cell : bed_.node.cells("t")) EXPECT_EQ(cell.value[0], 'd') << cell.row;
}

TEST_F(MergeRanges, DroppedRowsAreCutAndGoWithTheirRange) {
  fill(1, "a");
  bed_.shard().cut(bed_.id(), 4);
  fill(2, "b");
  ASSERT_TRUE(bed_.merge(0, 0));
  ASSERT_TRUE(bed_.node.drop_rows("t", row_of(10), ""));
  ASSERT_TRUE(bed_.node.flush("t"));
  ASSERT_EQ(bed_.tables(), (std::vector<size_t>{4, 4})) << "nothing but deletes, in each range";
  EXPECT_EQ(bed_.ranges().size(), 4u);
  EXPECT_EQ(bed_.node.cells("t").size(), 10u);
  for (const size_t range : {2, 0, 3, 1}) {
    ASSERT_TRUE(bed_.merge(range, 0));
    EXPECT_EQ(bed_.node.cells("t").size(), 10u);
    bed_.check();
  }
  EXPECT_EQ(bed_.tables(), (std::vector<size_t>{1}));
  EXPECT_TRUE(bed_.runs()[0].tables[0]->slice().range_deletes().empty());
}

TEST_F(MergeRanges, AReaderKeepsWhatItReads) {
  fill(1, "a");
  bed_.shard().cut(bed_.id(), 4);
  fill(2, "b");
  ASSERT_TRUE(bed_.merge(0, 0));
  fill(2, "c");
  const engine::Ref<const engine::Version> pinned = bed_.tablet().pin();
  const size_t files = bed_.node.disk().all_files().size();
  ASSERT_TRUE(bed_.merge(1, 0));
  bed_.node.world().run_for_us(1'000'000);
  EXPECT_EQ(bed_.node.disk().all_files().size(), files + 1) << "both inputs are still there";
  EXPECT_EQ(pinned->runs.front().tables.size(), 4u);
}

TEST_F(MergeRanges, TheyAreFoundAgainWhereTablesEnd) {
  fill(1, "a");
  bed_.shard().cut(bed_.id(), 4);
  fill(2, "b");
  ASSERT_TRUE(bed_.merge(0, 0));
  fill(2, "c");
  ASSERT_TRUE(bed_.merge(1, 0));
  const engine::Cuts cuts = bed_.tablet().cuts();
  const auto before = bed_.node.cells("t");
  for (const bool crashes : {true, false}) {
    if (crashes) {
      bed_.node.crash(CrashPolicy::none);
    } else {
      ASSERT_TRUE(bed_.node.close());
    }
    ASSERT_TRUE(bed_.node.reopen());
    EXPECT_TRUE(bed_.tablet().cuts().empty()) << "so small a tablet is merged in one piece";
    const engine::Cuts found = engine::cuts_on_disk(bed_.runs(), 4);
    EXPECT_GE(found.size(), 2u);
    for (const std::string& cut : found)
      EXPECT_EQ(engine::clean_cuts(bed_.runs(), {cut}).size(), 1u) << cut;
    EXPECT_EQ(engine::clean_cuts(bed_.runs(), cuts), cuts);
    EXPECT_EQ(bed_.node.cells("t"), before);
    bed_.tablet().set_cuts(found);
    ASSERT_TRUE(bed_.merge(0, 0));
    EXPECT_EQ(bed_.node.cells("t"), before);
    bed_.check();
  }
}

TEST_F(MergeRanges, ASmallTabletOrOneWithALongDeadlineHasNone) {
  fill(1, "a");
  EXPECT_EQ(engine::wanted_ranges(bed_.tablet()), 1u);
  engine::renew_cuts(bed_.tablet());
  EXPECT_TRUE(bed_.tablet().cuts().empty());
}

// ---- at random: writes of all kinds, flushes, merges of ranges and of neighbours, restarts; read
// after each step
class RangeHistory {
 public:
  explicit RangeHistory(uint64_t seed) : random_(seed), bed_(options_of(seed)) {
    engine::TableSpec spec;
    spec.name = "t";
    spec.granularity = Granularity::micros;
    spec.options.block_bytes = kMinBlockBytes;
    spec.options.dead_slack = 1;
    const RetentionRule rules[] = {RetentionRule{}, RetentionRule::max_versions(2),
                                   RetentionRule::max_age_us(60'000'000)};
    for (size_t i = 0; i < 3; ++i) {
      if (i == 1 && seed % 2 == 0) continue;  // where none counts versions less is kept
      engine::FamilySpec& family = spec.families.emplace_back();
      family.name = std::string(1, static_cast<char>('f' + i));
      family.rule = rules[i];
      family.born_dead = BornDead::accept;
      family.undo_window_us = 0;
      model_.create_family(family.name, rules[i], 0);
      families_.push_back(family.name);
    }
    EXPECT_TRUE(bed_.node.create_table(std::move(spec)));
  }

  void play(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE(fmt::format("step {}", i));
      step();
      const int64_t now_us = bed_.node.world().clock().wall_us();
      const std::vector<OwnedCell> cells = bed_.node.cells("t");
      if (bed_.node.world().clock().wall_us() == now_us)
        ASSERT_EQ(to_text(cells), to_text(model_.read(now_us)));
      bed_.check();
    }
  }
  size_t partial() const { return partial_; }

 private:
  static TestNodeOptions options_of(uint64_t seed) {
    TestNodeOptions options = support::options();
    options.seed = seed;
    options.engine.memtable_bytes = seed % 3 == 0 ? 4u << 10 : 1u << 20;
    options.engine.table_bytes = seed % 5 == 0 ? 1500 : 1u << 20;
    return options;
  }

  void step() {
    const uint64_t dice = random_.below(100);
    if (dice < 40) {
      for (uint64_t i = 0, n = 1 + random_.below(25); i < n; ++i) write();
    } else if (dice < 48) {
      drop();
    } else if (dice < 62) {
      ASSERT_TRUE(bed_.node.flush("t"));
    } else if (dice < 68) {
      bed_.shard().cut(bed_.id(), 2 + random_.below(5));
    } else if (dice < 88) {
      merge_range();
    } else if (dice < 93) {
      ASSERT_TRUE(bed_.node.world().block_on(
          bed_.node.loop(0),
          bed_.shard().compact_window(bed_.id(), random_.below(8), random_.below(8))));
    } else if (dice < 96) {
      bed_.node.world().clock().advance_us(static_cast<int64_t>(random_.below(20'000'000)));
    } else {
      restart();
    }
  }

  void write() {
    const std::string row = row_of(random_.below(kRows));
    std::vector<OwnedMutation> ops;
    for (uint64_t i = 0, n = 1 + random_.below(3); i < n; ++i) ops.push_back(mutation());
    const auto stamp = bed_.node.write("t", row, ops);
    ASSERT_TRUE(stamp);
    model_.mutate(*stamp, row, ops);
  }
  OwnedMutation mutation() {
    const std::string& family = families_[random_.below(families_.size())];
    const std::string column =
        family + ":" + std::string(1, static_cast<char>('a' + random_.below(2)));
    const int64_t now_us = bed_.node.world().clock().wall_us();
    switch (random_.below(12)) {
      case 0:
        return delete_row();
      case 1:
        return delete_family(family);
      case 2:
        return delete_column(column);
      default:
        OwnedMutation op =
            set_cell(column, now_us - static_cast<int64_t>(random_.below(4)) * 1000,
                     std::string(1 + random_.below(60), 'x') + std::to_string(random_.below(1000)));
        if (random_.one_in(8)) op.expire_at_us = now_us + 5'000'000;
        return op;
    }
  }
  void drop() {
    const uint64_t first = random_.below(kRows);
    const std::string start = row_of(first);
    const std::string end = random_.one_in(4) ? "" : row_of(first + 1 + random_.below(40));
    const auto pending =
        bed_.node.begin_drop_rows(bed_.node.table("t")->tablets.front(), start, end);
    bed_.node.wait(*pending);
    ASSERT_TRUE(pending->acked());
    model_.drop_rows(pending->write.stamp, start, end);
  }
  void merge_range() {
    const size_t ranges = bed_.ranges().size();
    const size_t before = bed_.runs().size();
    if (before == 0) return;
    ASSERT_TRUE(bed_.merge(random_.below(8), random_.below(3)));
    partial_ += ranges > 1 && before > 1;
  }
  void restart() {
    const uint64_t how = random_.below(3);
    const engine::Cuts cuts = bed_.tablet().cuts();
    if (how == 0) {
      bed_.node.crash(static_cast<CrashPolicy>(random_.below(4)));
    } else if (how == 1) {
      bed_.node.kill();
    } else {
      ASSERT_TRUE(bed_.node.close());
    }
    ASSERT_TRUE(bed_.node.reopen());
    bed_.tablet().set_cuts(random_.one_in(2) ? cuts : engine::cuts_on_disk(bed_.runs(), 4));
  }

  Random random_;
  Ranges bed_;
  RetentionModel model_;
  std::vector<std::string> families_;
  size_t partial_ = 0;
};

TEST(MergeRangesAtRandom, AnswersAreThoseOfTheModelAfterEveryStep) {
  size_t partial = 0;
  for (const uint64_t seed : test_seeds(12)) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    RangeHistory history(seed);
    history.play(120);
    partial += history.partial();
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(partial, 30u) << "merges of ranges beside others";
}

}  // namespace
}  // namespace cellar::support
