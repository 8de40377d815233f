// Dropped tables: restored whole within their window and removed permanently after it, across
// restarts, power cuts, other numbers of shards, splits and merges; and the audit entries of these
// changes.
#include <gtest/gtest.h>

#include <set>

#include "engine/read/scan.h"
#include "tests/support/durations.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

constexpr int64_t kStartUs = 1'000 * kHourUs;
constexpr int64_t kMarginUs = 300'000'000;
using Strings = std::vector<std::string>;

TestNodeOptions with_shards(uint32_t count) {
  TestNodeOptions options;
  options.shards = count;
  options.start_wall_us = kStartUs;
  return options;
}

engine::TableSpec spec_of(std::string name, int64_t undo_window_us, RetentionRule rule = {}) {
  engine::TableSpec spec;
  spec.name = std::move(name);
  spec.granularity = Granularity::micros;
  spec.splits = {"m"};
  for (const char* name_of_family : {"f", "g"}) {
    engine::FamilySpec& family = spec.families.emplace_back();
    family.name = name_of_family;
    family.undo_window_us = 0;
  }
  spec.families[1].undo_window_us = undo_window_us;
  spec.families[0].rule = std::move(rule);
  return spec;
}

Strings strings_of(TestNode& node) {
  Strings out;
  for (const OwnedCell& cell : node.cells("t")) out.push_back(cell.row + "=" + cell.value);
  return out;
}

size_t blob_count(TestNode& node) {
  size_t count = 0;
  for (const std::string& file : node.disk().all_files()) count += file.starts_with("blob/");
  return count;
}

void pass(TestNode& node, int64_t us) { node.world().run_for_us(us); }

class Drop : public testing::Test {
 protected:
  void fill() {
    ASSERT_TRUE(node_.set("t", "a", "f:q", 5, "1"));
    ASSERT_TRUE(node_.flush("t"));
    ASSERT_TRUE(node_.set("t", "b", "g:q", 5, "2"));  // only in memory
    ASSERT_TRUE(node_.set("t", "z", "f:q", 5, "3"));
  }
  const Strings all_{"a=1", "b=2", "z=3"};
  TestNode node_{with_shards(2)};
};

TEST_F(Drop, ATableIsRestoredWithItsRowsIdsAndTabletsAndTakesWrites) {
  ASSERT_TRUE(node_.create_table(spec_of("t", kHourUs)));
  fill();
  const engine::TableEntry before = *node_.table("t");
  ASSERT_TRUE(node_.drop_table("t"));
  EXPECT_EQ(node_.table("t"), nullptr);
  ReadSpec everything;
  everything.rows = RowSet::everything();
  for (const engine::TabletDescriptor& tablet : before.tablets) {
    engine::Engine& engine = node_.node().engine(tablet.shard);
    EXPECT_EQ(engine.open_scan(tablet.id, tablet.epoch, everything).error().code, Errc::aborted);
    EXPECT_EQ(node_.begin_drop_rows(tablet, "a", "b")->write.error->code, Errc::aborted);
  }
  const auto dropped = node_.dropped_tables();
  ASSERT_EQ(dropped.size(), 1u);
  EXPECT_EQ(dropped[0].mark.restorable_until_us, dropped[0].mark.dropped_us + kHourUs);
  EXPECT_GT(dropped[0].bytes, 0u);
  const auto restored = node_.restore_table("t");
  ASSERT_TRUE(restored) << restored.error().to_string();
  EXPECT_EQ(restored->schema.id, before.schema.id);
  EXPECT_EQ(restored->tablets.size(), 2u);
  EXPECT_EQ(strings_of(node_), all_);
  EXPECT_TRUE(node_.dropped_tables().empty());
  ASSERT_TRUE(node_.set("t", "a", "f:q", 6, "4"));
  EXPECT_EQ(strings_of(node_).size(), 4u);
  EXPECT_EQ(node_.restore_table("t").error().code, Errc::not_found);
}

TEST_F(Drop, RestartsKillsAndOtherNumbersOfShardsKeepWhatCanBeRestored) {
  ASSERT_TRUE(node_.create_table(spec_of("t", kHourUs)));
  fill();
  ASSERT_TRUE(node_.drop_table("t"));
  for (const uint32_t count : {3u, 1u, 2u}) {
    if (count == 1) {
      ASSERT_TRUE(node_.close());
    } else {
      node_.crash(CrashPolicy::random_subset);
    }
    ASSERT_TRUE(node_.reopen(count)) << node_.open_error()->to_string();
    EXPECT_EQ(node_.table("t"), nullptr);
    EXPECT_EQ(node_.dropped_tables().size(), 1u);
  }
  ASSERT_TRUE(node_.restore_table("t"));
  EXPECT_EQ(strings_of(node_), all_);
  node_.kill();
  ASSERT_TRUE(node_.reopen(3));
  EXPECT_EQ(strings_of(node_), all_);
}

TEST_F(Drop, BehindTheLongestWindowOfItsFamiliesItIsGoneForGoodAndSoAreItsFiles) {
  ASSERT_TRUE(node_.create_table(spec_of("t", kHourUs)));
  fill();
  ASSERT_TRUE(node_.flush("t"));
  ASSERT_TRUE(node_.drop_table("t"));
  pass(node_, kHourUs);
  EXPECT_EQ(node_.dropped_tables().size(), 1u) << "the window's last microsecond";
  pass(node_, 1);
  EXPECT_TRUE(node_.dropped_tables().empty());
  EXPECT_EQ(node_.restore_table("t").error().code, Errc::not_found);
  EXPECT_GT(blob_count(node_), 0u) << "the margin has not passed";
  pass(node_, kMarginUs + 1'000'000);
  EXPECT_EQ(blob_count(node_), 0u);
  EXPECT_EQ(node_.stats().tablets, 0u);
  node_.kill();
  ASSERT_TRUE(node_.reopen()) << node_.open_error()->to_string();
  EXPECT_EQ(node_.restore_table("t").error().code, Errc::not_found);
}

TEST_F(Drop, WhatWasDueWhileTheNodeWasDownGoesWithTheNextStart) {
  ASSERT_TRUE(node_.create_table(spec_of("t", kHourUs)));
  fill();
  ASSERT_TRUE(node_.drop_table("t"));
  pass(node_, kHourUs + kMarginUs - 1'000'000);
  ASSERT_TRUE(node_.close());
  ASSERT_TRUE(node_.reopen());
  EXPECT_GT(blob_count(node_), 0u);
  pass(node_, 3'000'000);
  EXPECT_EQ(blob_count(node_), 0u);
}

TEST_F(Drop, WithoutAnyUndoWindowItIsGoneAtOnce) {
  ASSERT_TRUE(node_.create_table(spec_of("t", 0)));
  fill();
  ASSERT_TRUE(node_.drop_table("t"));
  pass(node_, 1'000'000);
  EXPECT_EQ(blob_count(node_), 0u);
  EXPECT_EQ(node_.stats().tablets, 0u);
  EXPECT_EQ(node_.restore_table("t").error().code, Errc::not_found);
}

TEST_F(Drop, OfSeveralTablesOfOneNameTheOneDroppedLastComesBackAndNoneOverALivingOne) {
  for (const char* value : {"old", "new"}) {
    ASSERT_TRUE(node_.create_table(spec_of("t", kHourUs)));
    ASSERT_TRUE(node_.set("t", "a", "f:q", 5, value));
    ASSERT_TRUE(node_.drop_table("t"));
    pass(node_, 1000);
  }
  ASSERT_TRUE(node_.create_table(spec_of("t", kHourUs)));
  EXPECT_EQ(node_.restore_table("t").error().code, Errc::already_exists);
  EXPECT_TRUE(strings_of(node_).empty());
  pass(node_, 1000);
  ASSERT_TRUE(node_.drop_table("t"));
  node_.crash(CrashPolicy::none);
  ASSERT_TRUE(node_.reopen());
  EXPECT_EQ(node_.dropped_tables().size(), 3u);
  ASSERT_TRUE(node_.restore_table("t"));
  EXPECT_TRUE(strings_of(node_).empty()) << "the third";
  EXPECT_EQ(node_.restore_table("u").error().code, Errc::not_found);
}

TEST_F(Drop, TimeGoesOnForWhatADroppedTableHoldsAndTheDeadLeaveTheDisk) {
  ASSERT_TRUE(node_.create_table(spec_of("t", 9 * kHourUs, RetentionRule::max_age_us(kHourUs))));
  ASSERT_TRUE(node_.set("t", "a", "f:q", kStartUs, "dies"));
  ASSERT_TRUE(node_.flush("t"));
  EXPECT_EQ(node_.stats().tables_on_disk, 1u);
  ASSERT_TRUE(node_.set("t", "z", "f:q", kStartUs + 3 * kHourUs, "lives"));
  ASSERT_TRUE(node_.drop_table("t"));
  pass(node_, 2 * kHourUs);
  ASSERT_TRUE(node_.restore_table("t"));
  EXPECT_EQ(strings_of(node_), (Strings{"z=lives"}));
}

TEST_F(Drop, TabletsThatShareFilesAfterASplitAreCountedThroughDropRestoreAndEnd) {
  ASSERT_TRUE(node_.create_table(spec_of("t", kHourUs)));
  fill();
  ASSERT_TRUE(node_.flush("t"));
  const TabletId first = node_.table("t")->tablets.front().id;
  const auto parts = node_.split(first, "b");
  ASSERT_TRUE(parts) << parts.error().to_string();
  ASSERT_TRUE(node_.move(parts->back().id, 1));
  ASSERT_TRUE(node_.drop_table("t"));
  EXPECT_EQ(node_.split(parts->front().id, "aa").error().code, Errc::not_found);
  node_.kill();
  ASSERT_TRUE(node_.reopen(3));
  ASSERT_TRUE(node_.restore_table("t"));
  EXPECT_EQ(strings_of(node_), all_);
  ASSERT_TRUE(node_.compact("t"));
  EXPECT_EQ(strings_of(node_), all_);
  ASSERT_TRUE(node_.drop_table("t"));
  pass(node_, kHourUs + kMarginUs + 2'000'000);
  EXPECT_EQ(blob_count(node_), 0u);
}

TEST_F(Drop, ARuleThatWasTightenedBeforeTheDropCanBeUndoneAfterTheRestoration) {
  ASSERT_TRUE(node_.create_table(spec_of("t", kHourUs)));
  for (int64_t t = 1; t <= 3; ++t) ASSERT_TRUE(node_.set("t", "a", "g:q", t, std::to_string(t)));
  engine::TableChange change;
  change.name = "t";
  change.alter.emplace_back().name = "g";
  change.alter[0].rule = RetentionRule::max_versions(1);
  ASSERT_TRUE(node_.alter_table(change));
  ASSERT_TRUE(node_.drop_table("t"));
  node_.kill();
  ASSERT_TRUE(node_.reopen());
  ASSERT_TRUE(node_.restore_table("t"));
  EXPECT_EQ(strings_of(node_), (Strings{"a=3"}));
  ASSERT_TRUE(node_.undo_rule({"t", "g"}));
  EXPECT_EQ(strings_of(node_), (Strings{"a=3", "a=2", "a=1"}));
}

// The state of the table and its audit entries, which must always agree.
enum class Stage { none, made, dropped, restored, dropped_again, gone };

Stage stage_of(TestNode& node) {
  const auto trail = node.audit_log().entries;
  if (trail.empty()) return Stage::none;
  size_t drops = 0;
  size_t restorations = 0;
  for (const engine::AuditEntry& entry : trail) {
    drops += entry.action == engine::AuditAction::drop_table;
    restorations += entry.action == engine::AuditAction::restore_table;
  }
  const bool there = node.table("t") != nullptr;
  EXPECT_EQ(there, drops == restorations);
  if (drops == 2) return node.dropped_tables().empty() ? Stage::gone : Stage::dropped_again;
  return restorations == 1 ? Stage::restored : drops == 1 ? Stage::dropped : Stage::made;
}

TEST(DropCrash, APowerCutAtAnyStepLeavesTheTableBeforeOrAfterIt) {
  std::set<Stage> seen;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    std::vector<std::pair<std::unique_ptr<MemDisk>, int64_t>> images;
    bool taking = false;
    TestNodeOptions options = with_shards(2);
    options.seed = seed;
    options.min_latency_us = 20;
    options.max_latency_us = 300;
    options.on_round = [&](TestNode& n) {
      if (!taking) return;
      images.emplace_back(n.crash_image(static_cast<CrashPolicy>(images.size() % 4)),
                          n.world().clock().wall_us());
    };
    TestNode node(options);
    taking = true;
    ASSERT_TRUE(node.create_table(spec_of("t", kHourUs)));
    taking = false;
    ASSERT_TRUE(node.set("t", "a", "f:q", 5, "1"));
    if (seed % 2) ASSERT_TRUE(node.flush("t"));
    ASSERT_TRUE(node.set("t", "z", "g:q", 5, "2"));
    taking = true;
    ASSERT_TRUE(node.drop_table("t"));
    ASSERT_TRUE(node.restore_table("t"));
    ASSERT_TRUE(node.drop_table("t"));
    taking = false;
    pass(node, kHourUs + kMarginUs);
    taking = true;
    node.world().run_until([&, rounds = 0]() mutable {
      options.on_round(node);
      return ++rounds > 60;
    });
    taking = false;
    for (size_t i = 0; i < images.size(); ++i) {
      SCOPED_TRACE(fmt::format("seed {} image {} of {}", seed, i, images.size()));
      TestNodeOptions after = with_shards(1 + static_cast<uint32_t>(i % 3));
      after.start_wall_us = images[i].second;
      TestNode back(after, std::move(images[i].first));
      ASSERT_TRUE(back.is_open()) << back.open_error()->to_string();
      const Stage stage = stage_of(back);
      seen.insert(stage);
      if (stage == Stage::dropped || stage == Stage::dropped_again) {
        const auto restored = back.restore_table("t");
        // After the window the table is dead, though it is not removed yet.
        ASSERT_TRUE(restored) << restored.error().to_string();
      }
      if (stage == Stage::none || stage == Stage::gone) {
        EXPECT_EQ(back.table("t"), nullptr);
      } else if (stage != Stage::made) {
        EXPECT_EQ(strings_of(back), (Strings{"a=1", "z=2"}));
      }
    }
  }
  EXPECT_EQ(seen, (std::set<Stage>{Stage::none, Stage::made, Stage::dropped, Stage::restored,
                                   Stage::dropped_again, Stage::gone}));
}

}  // namespace
}  // namespace cellar::support
