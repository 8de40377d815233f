// Tablet time where the clocks of shards differ: after a change of a rule, during it, and for a
// read that began before its tablet was moved.
#include <gtest/gtest.h>

#include "engine/read/scan.h"
#include "io/base/check.h"
#include "io/sim/manual_clock.h"
#include "tests/support/durations.h"
#include "tests/support/rule_tables.h"

namespace cellar::support {
namespace {

class TabletTime : public testing::Test {
 protected:
  static TestNodeOptions options() {
    TestNodeOptions options;
    options.shards = 2;
    options.start_wall_us = 1'000 * kHourUs;
    options.engine.clock_permit_us = kHourUs;
    return options;
  }
  void SetUp() override {
    engine::TableSpec spec = table_of_rule(RetentionRule::max_versions(5), kHourUs);
    spec.splits.clear();
    ASSERT_TRUE(node_.create_table(spec));
  }
  ManualClock& clock() { return node_.world().clock(); }
  ShardId shard() { return node_.table("t")->tablets.front().shard; }
  ShardId other_shard() { return ShardId{1 - shard().value()}; }
  int64_t read_clock(ShardId of) { return node_.shard(of.value()).clock().now_us(); }
  bool alive(const std::string& row) { return !node_.read_row("t", row)->empty(); }
  void set_dying(const std::string& row, int64_t in_us) {
    std::vector<OwnedMutation> ops = {set_cell("f:q", 1, "v")};
    ops[0].expire_at_us = clock().wall_us() + in_us;
    ASSERT_TRUE(node_.write("t", row, ops));
  }
  // Only the clock of the other shard is later than the end of every cell.
  void let_clocks_differ() {
    clock().advance_us(8 * kSecondUs);
    read_clock(other_shard());
    clock().set_wall_us(clock().wall_us() - 7 * kSecondUs);
    ASSERT_LT(read_clock(shard()) + 6 * kSecondUs, read_clock(other_shard()));
  }

  TestNode node_{options()};
};

// ---- the instant of a change, which may come from another shard's clock

TEST_F(TabletTime, IsNotBeforeAChangeThatWasUndone) {
  set_dying("a", 5 * kSecondUs);
  let_clocks_differ();
  ASSERT_TRUE(alive("a"));
  ASSERT_TRUE(node_.alter_table(rule_of_f(RetentionRule::max_versions(3))));
  ASSERT_FALSE(alive("a")) << "reads go by the instant of the change";
  ASSERT_TRUE(node_.undo_rule({"t", "f"}));
  EXPECT_FALSE(alive("a"));
}

TEST_F(TabletTime, IsNotBeforeAChangeThatIsForgotten) {
  set_dying("a", 5 * kSecondUs);
  let_clocks_differ();
  ASSERT_TRUE(node_.alter_table(rule_of_f(RetentionRule::max_versions(9))));
  ASSERT_FALSE(alive("a"));
  ASSERT_TRUE(node_.flush("t"));
  ASSERT_TRUE(node_.compact("t"));
  EXPECT_FALSE(alive("a"));
}

TEST_F(TabletTime, IsNotBeforeAChangeAfterARestart) {
  set_dying("a", 5 * kSecondUs);
  let_clocks_differ();
  ASSERT_TRUE(node_.alter_table(rule_of_f(RetentionRule::max_versions(3))));
  ASSERT_FALSE(alive("a"));
  clock().set_wall_us(clock().wall_us() - kHourUs);
  node_.kill();
  ASSERT_TRUE(node_.reopen());
  EXPECT_FALSE(alive("a"));
  ASSERT_TRUE(node_.undo_rule({"t", "f"}));
  EXPECT_FALSE(alive("a"));
}

// ---- commits while a change is made

TEST_F(TabletTime, NoCommitAfterTheInstantOfAChangeIsGuardedByTheRuleBefore) {
  std::vector<std::unique_ptr<PendingWrite>> writes;
  std::unique_ptr<PendingWrite> fresh;
  int rounds = 0;
  // A timestamp of the distant past, which only the new rule refuses.
  node_.on_round([&](TestNode& node) {
    if (rounds++ > 200) return;
    writes.push_back(
        node.begin_write("t", "r" + std::to_string(rounds), {set_cell("f:q", 1, "v")}));
    if (rounds == 3) {
      fresh = node.begin_write("t", "fresh", {set_cell("f:q", clock().wall_us(), "v")});
    }
    clock().advance_us(1);
  });
  ASSERT_TRUE(node_.alter_table(rule_of_f(RetentionRule::max_age_us(kHourUs))));
  node_.on_round(nullptr);
  node_.world().run_for_us(kSecondUs);
  const CommitStamp change = node_.table("t")->schema.families[0].history.back().until;
  size_t refused = 0;
  for (const auto& write : writes) {
    ASSERT_TRUE(write->finished);
    if (write->acked()) {
      EXPECT_LT(write->write.stamp, change) << write->row;
    } else {
      ++refused;
      const Error& error = *write->write.error;
      EXPECT_TRUE(error.code == Errc::unavailable || error.code == Errc::out_of_range)
          << error.to_string();
      EXPECT_EQ(error.applied, Applied::not_applied);
    }
  }
  EXPECT_GT(refused, 0u) << "no write met the change";
  EXPECT_TRUE(fresh->acked());
}

TEST_F(TabletTime, AChangeThatIsRefusedLeavesTheGuardsAsTheyAre) {
  engine::TableChange change = rule_of_f(RetentionRule::max_age_us(kHourUs));
  for (int i = 0; i < 20; ++i) {
    // All undo windows are open: the ninth tightening is refused at its stamp.
    const auto altered = node_.alter_table(rule_of_f(RetentionRule::max_versions(100 - i)));
    if (!altered) break;
  }
  ASSERT_FALSE(node_.alter_table(change));
  EXPECT_TRUE(node_.set("t", "a", "f:q", 1, "v"));
}

// ---- a read that began at the parent

class OneByOne final : public CellSink {
 public:
  Flow cell(const CellView& view) override {
    rows.emplace_back(view.row);
    return Flow::more;
  }
  Flow end_row(Bytes /*row*/) override { return Flow::pause; }
  std::vector<std::string> rows;
};

// Its rows are as of some moment between its beginning and its end: cells dead at its beginning
// stay dead, whatever the clocks of source and target do meanwhile.
TEST_F(TabletTime, AReadThatBeganBeforeAMoveBringsNothingBack) {
  ASSERT_TRUE(node_.set("t", "a", "f:q", 1, "v"));
  set_dying("b", 5 * kSecondUs);
  ASSERT_TRUE(node_.set("t", "c", "f:q", 1, "v"));
  clock().advance_us(6 * kSecondUs);
  ASSERT_FALSE(alive("b"));
  const engine::TabletDescriptor parent = node_.table("t")->tablets.front();
  ReadSpec spec;
  spec.rows = RowSet::everything();
  OneByOne sink;
  auto read =
      node_.node().engine(parent.shard).start_read(parent.id, parent.epoch, spec, sink, nullptr);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->step, engine::ScanStep::paused);
  clock().set_wall_us(clock().wall_us() - kHourUs);
  ASSERT_TRUE(node_.move(parent.id, other_shard().value()));
  for (int i = 0; i < 10 && read->step != engine::ScanStep::done; ++i) {
    read->step = read->cursor->run(sink);
  }
  EXPECT_EQ(sink.rows, (std::vector<std::string>{"a", "c"}));
  EXPECT_FALSE(alive("b"));
}

}  // namespace
}  // namespace cellar::support
