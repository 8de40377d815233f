// A rule changes while merges and flushes are in progress: the stamp of the change alone decides
// which cells the old rule has killed, however late a tablet learns of the change and whatever was
// planned before. Also with a power failure at every step of a change and of its undo.
#include <gtest/gtest.h>

#include <set>

#include "engine/node/alter_table.h"
#include "engine/write/row_lock_table.h"
#include "io/sim/faulty_fs.h"
#include "tests/support/rule_tables.h"

namespace cellar::support {
namespace {

constexpr int64_t kSecondUs = 1'000'000;
constexpr int64_t kStartUs = 1'000'000'000'000'000;
using Values = std::vector<std::string>;
using std::string_literals::operator""s;

class RuleRace : public testing::Test {
 protected:
  static TestNodeOptions options(uint64_t seed) {
    TestNodeOptions options;
    options.seed = seed;
    options.shards = 2;
    options.min_latency_us = 20;
    options.max_latency_us = 400;
    options.start_wall_us = kStartUs;
    options.engine.removal_margin_us = 0;
    options.engine.clock_permit_us = 3600 * kSecondUs;
    options.engine.clock_renew_us = 0;
    return options;
  }
  static engine::TableSpec table(RetentionRule rule, int64_t undo_window_us) {
    engine::TableSpec spec = table_of_rule(std::move(rule), undo_window_us);
    spec.families[0].born_dead = BornDead::accept;
    return spec;
  }
};

// Cells that die of age one after the other for the duration of the test.
TEST_F(RuleRace, WhatALooserRuleFindsAliveStaysThoughAMergeWasPlannedUnderTheOldOne) {
  size_t met = 0;
  for (uint64_t round = 0; round < 40; ++round) {
    SCOPED_TRACE(fmt::format("round {}", round));
    TestNode node(options(round + 1));
    ASSERT_TRUE(node.create_table(table(RetentionRule::max_age_us(kSecondUs), 0)));
    const int64_t base_us = node.world().clock().wall_us();
    constexpr int64_t kCells = 600;
    constexpr int64_t kStepUs = 25;
    for (const char* row : {"a", "z"}) {
      std::vector<OwnedMutation> ops;
      for (int64_t i = 0; i < kCells; ++i) {
        ops.push_back(set_cell(fmt::format("f:{:04}", i), base_us + i * kStepUs, "v"));
      }
      ASSERT_TRUE(node.write("t", row, std::move(ops)));
    }
    if (round % 2 == 0) ASSERT_TRUE(node.flush("t"));
    node.world().run_for_us(base_us + kSecondUs + 2000 - node.world().clock().wall_us());

    std::optional<Result<engine::TableEntry>> altered;
    std::vector<std::unique_ptr<std::optional<Result<void>>>> merges;
    // Merges begin one after the other, before, during and after the change; the first of them
    // after `round` rounds of the world.
    spawn(node.loop(0).executor(),
          detail::run_into(node.node().alter_table(ShardId{0}, rule_of_f(RetentionRule()), {}),
                           altered));
    uint64_t rounds = 0;
    ASSERT_TRUE(node.world().run_until([&] {
      if (merges.size() < 2 && rounds++ >= round % 20) {
        const auto& tablet = node.table("t")->tablets[merges.size()];
        merges.push_back(std::make_unique<std::optional<Result<void>>>());
        spawn(
            node.loop(tablet.shard.value()).executor(),
            detail::run_into(node.node().engine(tablet.shard).compact(tablet.id), *merges.back()));
      }
      return altered.has_value() && merges.size() == 2 && merges[0]->has_value() &&
             merges[1]->has_value();
    }));
    ASSERT_TRUE(*altered) << altered->error().to_string();
    for (const auto& merge : merges) met += !**merge;  // postponed, to be retried

    const FamilySchema& family = node.table("t")->schema.families[0];
    ASSERT_EQ(family.history.size(), 1u);
    const uint64_t changed_ns = family.history[0].until.value();
    Values expected;
    for (const char* row : {"a", "z"}) {
      for (int64_t i = 0; i < kCells; ++i) {
        const int64_t dies_us = base_us + i * kStepUs + kSecondUs + 1;
        if (static_cast<uint64_t>(dies_us) * 1000 >= changed_ns)
          expected.push_back(fmt::format("{} {:04}", row, i));
      }
    }
    ASSERT_GT(expected.size(), 100u);
    ASSERT_LT(expected.size(), 2u * kCells);
    const auto alive = [&node] {
      Values values;
      for (const OwnedCell& cell : node.cells("t")) {
        values.push_back(fmt::format("{} {}", cell.row, cell.qualifier));
      }
      return values;
    };
    EXPECT_EQ(alive(), expected);
    ASSERT_TRUE(node.compact("t"));
    EXPECT_EQ(alive(), expected);
    if (HasFailure()) return;
  }
  EXPECT_GT(met, 0u) << "no merge was ever overtaken by the change";
}

// ---- a slow manifest

// A change takes as long as its edit; merges begin, end and are installed meanwhile.
class SlowRuleRace : public RuleRace {
 protected:
  using Change = Async<Result<engine::TableEntry>>;

  SlowRuleRace() {
    TestNodeOptions slow = options(1);
    slow.shuffle_io = false;
    slow.min_latency_us = slow.max_latency_us = 20;
    slow.wrap = [this](std::unique_ptr<FileSystem> inner, MemDisk&, SimLoop& loop) {
      auto faulty =
          std::make_unique<FaultyFs>(loop.executor(), std::move(inner), faults_, &loop.timers());
      disks_.push_back(faulty.get());
      return faulty;
    };
    node_.emplace(slow);
  }
  int64_t now_us() { return node_->world().clock().wall_us(); }
  size_t alive() { return node_->cells("t").size(); }
  // Starts a merge of each tablet this long after the change.
  void change_amid_merges(Change change, int64_t after_us) {
    EXPECT_TRUE(faults_.add("write path=manifest/* delay_us=2000"));
    std::optional<Result<engine::TableEntry>> changed;
    spawn(node_->loop(0).executor(), detail::run_into(std::move(change), changed));
    node_->world().run_for_us(after_us);
    std::optional<Result<void>> merges[2];
    for (size_t i = 0; i < 2; ++i) {
      const auto& tablet = node_->table("t")->tablets[i];
      spawn(node_->loop(tablet.shard.value()).executor(),
            detail::run_into(node_->node().engine(tablet.shard).compact(tablet.id), merges[i]));
    }
    EXPECT_TRUE(node_->world().run_until(
        [&] { return changed.has_value() && merges[0].has_value() && merges[1].has_value(); }));
    faults_.clear();
    EXPECT_TRUE(*changed) << (*changed).error().to_string();
  }

  // Starts a change and returns when its edit is being written.
  void begin_slow_change(RetentionRule rule, bool fails = false) {
    EXPECT_TRUE(faults_.add("write path=manifest/* delay_us=5000"s + (fails ? " error=EIO" : "")));
    changed_.reset();
    spawn(node_->loop(0).executor(),
          detail::run_into(node_->node().alter_table(ShardId{0}, rule_of_f(std::move(rule)), {}),
                           changed_));
    node_->world().run_for_us(2'000);
    ASSERT_FALSE(changed_) << "it ended too early for this test";
  }
  void end_change() {
    ASSERT_TRUE(node_->world().run_until([&] { return changed_.has_value(); }));
    faults_.clear();
  }
  uint64_t changed_ns() { return node_->table("t")->schema.families[0].history[0].until.value(); }

  FaultRules faults_;
  std::vector<FaultyFs*> disks_;
  std::optional<TestNode> node_;
  std::optional<Result<engine::TableEntry>> changed_;
};

// ---- what the tablets hold

TEST_F(SlowRuleRace, WritesDuringAChangeWaitAndComeBehindItInTheirOrder) {
  ASSERT_TRUE(node_->create_table(table(RetentionRule::max_versions(1), 0)));
  ASSERT_TRUE(node_->set("t", "a", "f:q", 1, "v1"));
  begin_slow_change(RetentionRule::max_versions(3));
  std::vector<std::unique_ptr<PendingWrite>> writes;
  writes.push_back(node_->begin_write("t", "a", {set_cell("f:q", 2, "old")}));
  writes.push_back(node_->begin_write("t", "a", {set_cell("f:q", 2, "v2")}));
  const auto tablets = node_->table("t")->tablets;
  writes.push_back(node_->begin_drop_rows(tablets[0], "b", "c"));
  writes.push_back(node_->begin_write("t", "b", {set_cell("f:q", 1, "kept")}));
  PendingConditional increment;
  increment.words = {"f", "n"};
  increment.rules.push_back(
      {ModifyRule::Kind::increment, increment.words[0], increment.words[1], {}, 5});
  node_->begin(increment, "t", "z");
  node_->world().run_for_us(1'000);
  for (const auto& write : writes) EXPECT_FALSE(write->finished);
  EXPECT_FALSE(increment.finished);
  end_change();
  ASSERT_TRUE(*changed_) << changed_->error().to_string();
  uint64_t last_ns = changed_ns();
  for (const auto& write : writes) {
    node_->wait(*write);
    ASSERT_TRUE(write->acked()) << write->write.error->to_string();
    EXPECT_GT(write->write.stamp.value(), last_ns);
    last_ns = write->write.stamp.value();
  }
  node_->wait(increment);
  EXPECT_FALSE(increment.write.error) << increment.write.error->to_string();
  Values values;
  for (const OwnedCell& cell : node_->cells("t")) values.push_back(cell.row + cell.value);
  ASSERT_EQ(values.size(), 4u);
  values.pop_back();
  EXPECT_EQ(values, (Values{"av2", "av1", "bkept"}));
}

TEST_F(SlowRuleRace, WritesThatWaitForAChangeAreBounded) {
  ASSERT_TRUE(node_->create_table(table(RetentionRule(), 0)));
  begin_slow_change(RetentionRule::max_versions(3));
  const std::string large(2u << 20, 'v');
  std::vector<std::unique_ptr<PendingWrite>> writes;
  for (int64_t i = 0; i < 9; ++i) {
    writes.push_back(node_->begin_write("t", "a", {set_cell("f:q", 1 + i, large)}));
  }
  EXPECT_FALSE(writes[6]->finished);
  ASSERT_TRUE(writes[8]->finished);
  EXPECT_EQ(writes[8]->write.error->code, Errc::resource_exhausted);
  EXPECT_NE(writes[8]->write.error->message.find("the bounds are 10000 and 16777216 bytes"),
            std::string::npos)
      << writes[8]->write.error->message;
  for (size_t i = 0; i < engine::RowLockTable::kMaxWaiting; ++i) {
    writes.push_back(node_->begin_write("t", "z", {set_cell("f:q", 1, "v")}));
    ASSERT_FALSE(writes.back()->finished) << "the bounds are of each tablet";
  }
  EXPECT_TRUE(node_->begin_write("t", "z", {set_cell("f:q", 1, "v")})->finished);
  end_change();
  for (const auto& write : writes) node_->wait(*write);
}

// They are judged by the rule that is then in force.
TEST_F(SlowRuleRace, AWriteThatOnlyTheNewRuleRefusesIsRefusedByIt) {
  engine::TableSpec spec = table_of_rule(RetentionRule(), 0);
  ASSERT_TRUE(node_->create_table(spec));
  begin_slow_change(RetentionRule::max_age_us(kSecondUs));
  const auto dead = node_->begin_write("t", "a", {set_cell("f:q", 1, "v")});
  const auto alive = node_->begin_write("t", "z", {set_cell("f:q", now_us(), "v")});
  end_change();
  node_->wait(*dead);
  node_->wait(*alive);
  ASSERT_TRUE(dead->write.error);
  EXPECT_EQ(dead->write.error->code, Errc::out_of_range);
  EXPECT_TRUE(alive->acked());
}

TEST_F(SlowRuleRace, ReadsDuringAChangeAreSentToTheNextMap) {
  struct Nowhere final : CellSink {
    Flow cell(const CellView&) override { return Flow::more; }
    Flow end_row(Bytes) override { return Flow::more; }
  } sink;
  ASSERT_TRUE(node_->create_table(table(RetentionRule(), 0)));
  ReadSpec everything;
  everything.rows = RowSet::everything();
  const auto tablet = node_->table("t")->tablets[0];
  const auto read = [&] {
    return node_->node()
        .engine(tablet.shard)
        .start_read(tablet.id, tablet.epoch, everything, sink, nullptr);
  };
  for (const bool fails : {false, true}) {
    ASSERT_TRUE(read());
    const uint64_t map = node_->node().tables(tablet.shard).version;
    begin_slow_change(RetentionRule::max_versions(fails ? 2 : 1), fails);
    const auto held = read();
    ASSERT_FALSE(held);
    EXPECT_EQ(held.error().code, Errc::aborted) << held.error().to_string();
    end_change();
    EXPECT_EQ(changed_->has_value(), !fails);
    EXPECT_TRUE(read());
    EXPECT_GT(node_->node().tables(tablet.shard).version, map);
  }
}

// A change is a durable commit, so it makes the earlier ones durable.
TEST_F(SlowRuleRace, CommitsBelowSyncThatAChangeFollowsAreOnDisk) {
  ASSERT_TRUE(node_->create_table(table(RetentionRule::max_versions(3), 0)));
  ASSERT_TRUE(node_->write("t", "a", {set_cell("f:q", 1, "v")}, Durability::memory));
  ASSERT_TRUE(node_->write("t", "z", {set_cell("f:q", 1, "v")}, Durability::memory));
  ASSERT_TRUE(node_->alter_table(rule_of_f(RetentionRule::max_versions(2))));
  node_->crash(CrashPolicy::none);
  disks_.clear();
  ASSERT_TRUE(node_->reopen());
  EXPECT_EQ(alive(), 2u);
}

// The stamp of a write whose log hangs is below that of the change, so the change must not become
// visible first.
TEST_F(SlowRuleRace, AChangeDoesNotWaitForEverForEarlierWrites) {
  ASSERT_TRUE(node_->create_table(table(RetentionRule::max_versions(3), 0)));
  ASSERT_TRUE(node_->set("t", "a", "f:q", 1, "v1"));
  const uint64_t version = node_->table("t")->schema.version;
  ASSERT_TRUE(faults_.add("write path=log/* hang"));
  const auto hanging = node_->begin_write("t", "a", {set_cell("f:q", 2, "v2")});
  node_->world().run_for_us(1'000);
  const int64_t began_us = now_us();
  spawn(node_->loop(0).executor(),
        detail::run_into(
            node_->node().alter_table(ShardId{0}, rule_of_f(RetentionRule::max_versions(1)), {}),
            changed_));
  node_->world().run_for_us(1'000'000);
  const auto held = node_->begin_write("t", "z", {set_cell("f:q", 1, "w")}, Durability::memory);
  EXPECT_EQ(alive(), 1u) << "reads go on while earlier writes are awaited";
  EXPECT_FALSE(held->finished);
  // The writes are released at the limit; the change has not begun.
  ASSERT_TRUE(node_->world().run_until([&] {
    return node_->node().engine(ShardId{0}).stats().commits +
               node_->node().engine(ShardId{1}).stats().commits ==
           3;
  }));
  EXPECT_GE(now_us() - began_us, engine::TableAlterations::kHoldUs);
  EXPECT_LE(now_us() - began_us, engine::TableAlterations::kHoldUs + 100'000);
  EXPECT_FALSE(changed_);
  faults_.clear();
  for (FaultyFs* disk : disks_) disk->release_hung();
  ASSERT_TRUE(node_->world().run_until([&] { return changed_.has_value(); }));
  ASSERT_FALSE(*changed_);
  EXPECT_EQ(changed_->error().code, Errc::unavailable) << changed_->error().to_string();
  node_->wait(*hanging);
  node_->wait(*held);
  EXPECT_TRUE(hanging->acked() && held->acked());
  EXPECT_EQ(node_->table("t")->schema.version, version);
  EXPECT_EQ(alive(), 3u);
  ASSERT_TRUE(node_->alter_table(rule_of_f(RetentionRule::max_versions(1))));
  EXPECT_EQ(alive(), 2u);
}

// ---- merges amid a change

TEST_F(SlowRuleRace, AMergeThatIsPlannedDuringAChangeRemovesNothingThatTheNewRuleKeeps) {
  constexpr int64_t kStepUs = 50;
  for (int64_t after_us = 0; after_us < 8'000; after_us += 250) {
    SCOPED_TRACE(after_us);
    if (node_->table("t") != nullptr) ASSERT_TRUE(node_->drop_table("t"));
    ASSERT_TRUE(node_->create_table(table(RetentionRule::max_age_us(kSecondUs), 0)));
    const int64_t base_us = now_us();
    for (const char* row : {"a", "z"}) {
      std::vector<OwnedMutation> ops;
      for (int64_t i = 0; i < 400; ++i) {
        ops.push_back(set_cell(fmt::format("f:{:04}", i), base_us + i * kStepUs, "v"));
      }
      ASSERT_TRUE(node_->write("t", row, std::move(ops)));
    }
    if (after_us % 500 == 0) ASSERT_TRUE(node_->flush("t"));
    node_->world().run_for_us(base_us + kSecondUs + 2'000 - now_us());
    change_amid_merges(node_->node().alter_table(ShardId{0}, rule_of_f(RetentionRule()), {}),
                       after_us);
    const FamilySchema& family = node_->table("t")->schema.families[0];
    ASSERT_EQ(family.history.size(), 1u);
    const auto changed_us = static_cast<int64_t>(family.history[0].until.value() / 1000);
    const int64_t dead = (changed_us - base_us - kSecondUs - 1) / kStepUs + 1;
    EXPECT_EQ(alive(), 2 * (400 - static_cast<size_t>(dead)));
    if (HasFailure()) return;
  }
}

// The change is undone at the last moment, and merges begin when its window has ended.
TEST_F(SlowRuleRace, AMergeThatIsPlannedDuringAnUndoRemovesNothingThatComesBack) {
  for (int64_t after_us = 100; after_us < 8'000; after_us += 250) {
    SCOPED_TRACE(after_us);
    if (node_->table("t") != nullptr) ASSERT_TRUE(node_->drop_table("t"));
    ASSERT_TRUE(node_->create_table(table(RetentionRule::max_versions(5), kSecondUs)));
    for (const char* row : {"a", "z"}) {
      for (int64_t t = 1; t <= 5; ++t) ASSERT_TRUE(node_->set("t", row, "f:q", t, "v"));
    }
    if (after_us % 500 == 100) ASSERT_TRUE(node_->flush("t"));
    ASSERT_TRUE(node_->alter_table(rule_of_f(RetentionRule::max_versions(1))));
    ASSERT_EQ(alive(), 2u);
    const FamilySchema& family = node_->table("t")->schema.families[0];
    const auto ends_us = static_cast<int64_t>(family.history[0].until.value() / 1000) + kSecondUs;
    node_->world().run_for_us(ends_us - 60 - now_us());
    change_amid_merges(node_->node().undo_rule(ShardId{0}, {"t", "f"}, {}), after_us);
    EXPECT_EQ(alive(), 10u);
    if (HasFailure()) return;
  }
}

// ---- the power fails

struct Image {
  std::unique_ptr<MemDisk> disk;
  int64_t wall_us = 0;
  std::string note;
};

// The states that a table may have before and after one change of its rule, by the kind of change.
struct Step {
  const char* name;
  RetentionRule rule;
  bool undo = false;
  Values before;
  Values after;
};

class RuleCrash : public RuleRace {
 protected:
  static Values values(TestNode& node) {
    Values out;
    for (const OwnedCell& cell : node.cells("t")) out.push_back(cell.row + cell.value);
    return out;
  }
  static Async<Result<engine::TableEntry>> change(TestNode& node, const Step& step) {
    if (step.undo) return node.node().undo_rule(ShardId{0}, {"t", "f"}, {"test", "memory"});
    return node.node().alter_table(ShardId{0}, rule_of_f(step.rule), {"test", "memory"});
  }
};

TEST_F(RuleCrash, AtEveryStepOfAChangeAndOfItsUndoingAllTabletsHoldTheOldRuleOrTheNew) {
  const Values all{"a5", "a4", "a3", "a2", "a1", "z5", "z4", "z3", "z2", "z1"};
  const Values three{"a5", "a4", "a3", "z5", "z4", "z3"};
  const Values one{"a5", "z5"};
  const auto keep = [](int64_t n) { return RetentionRule::max_versions(n); };
  const Step steps[] = {
      {"tightened", keep(3), false, all, three}, {"again", keep(1), false, three, one},
      {"undone", {}, true, one, three},          {"undone to the first", {}, true, three, all},
      {"tightened", keep(1), false, all, one},   {"loosened", keep(3), false, one, three},
  };
  TestNodeOptions with_hook = options(5);
  std::vector<Image> images;
  const char* amid = nullptr;
  uint64_t round = 0;
  with_hook.on_round = [&](TestNode& node) {
    if (amid == nullptr) return;
    images.push_back({node.crash_image(static_cast<CrashPolicy>(round % 4)),
                      node.world().clock().wall_us(), fmt::format("{}, round {}", amid, round)});
    ++round;
  };
  TestNode node(with_hook);
  ASSERT_TRUE(node.create_table(table(keep(5), 3600 * kSecondUs)));
  for (const char* row : {"a", "z"}) {
    for (int64_t t = 1; t <= 5; ++t) {
      ASSERT_TRUE(node.set("t", row, "f:q", t, std::to_string(t)));
    }
    ASSERT_TRUE(node.flush("t"));
  }
  for (const Step& step : steps) {
    ASSERT_EQ(values(node), step.before) << step.name;
    const uint64_t version = node.table("t")->schema.version;
    const size_t audited = node.audit_log().entries.size();
    images.clear();
    amid = step.name;
    const auto changed =
        step.undo ? node.undo_rule({"t", "f"}) : node.alter_table(rule_of_f(step.rule));
    amid = nullptr;
    ASSERT_TRUE(changed) << step.name << ": " << changed.error().to_string();
    ASSERT_EQ(values(node), step.after) << step.name;
    EXPECT_GT(images.size(), 5u);
    std::set<uint64_t> versions;
    for (Image& image : images) {
      SCOPED_TRACE(image.note);
      TestNodeOptions after = options(round++);
      after.shards = 1 + static_cast<uint32_t>(round % 3);
      after.start_wall_us = image.wall_us;
      TestNode again(after, std::move(image.disk));
      ASSERT_TRUE(again.is_open()) << again.open_error()->to_string();
      const uint64_t found = again.table("t")->schema.version;
      versions.insert(found);
      const bool is_new = found != version;
      EXPECT_EQ(values(again), is_new ? step.after : step.before);
      EXPECT_EQ(again.audit_log().entries.size(), audited + (is_new ? 1 : 0))
          << "the trail tells of it exactly when it was made";
      ASSERT_TRUE(again.compact("t"));
      EXPECT_EQ(values(again), is_new ? step.after : step.before);
      if (HasFailure()) return;
    }
    EXPECT_EQ(versions, (std::set<uint64_t>{version, version + 1})) << step.name;
  }
}

}  // namespace
}  // namespace cellar::support
