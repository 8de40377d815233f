// The trusted clocks of several shards, whose readings differ after a backward step of the wall
// clock: dead cells stay dead on every shard that serves their tablet, and after a restart.
#include <gtest/gtest.h>

#include "engine/balance/balancer.h"
#include "engine/read/scan.h"
#include "io/base/check.h"
#include "io/sim/manual_clock.h"
#include "tests/support/durations.h"
#include "tests/support/test_node.h"

namespace cellar::engine {
namespace {

using support::set_cell;
using support::TestNode;
using support::TestNodeOptions;

TestNodeOptions renewing() {
  TestNodeOptions options;
  options.shards = 2;
  options.engine.clock_permit_us = 10 * kSecondUs;
  options.engine.clock_renew_us = 4 * kSecondUs;
  return options;
}

struct Count final : CellSink {
  size_t cells = 0;
  Flow cell(const CellView& /*cell*/) override {
    ++cells;
    return Flow::more;
  }
  Flow end_row(Bytes /*row*/) override { return Flow::more; }
};

class ClockShards : public ::testing::Test {
 protected:
  explicit ClockShards(TestNodeOptions options = renewing()) : node_(std::move(options)) {
    CHECK(node_.create_table("t", {"f"}).has_value(), "no table");
  }

  ManualClock& clock() { return node_.world().clock(); }
  void pass(int64_t us) { node_.world().run_for_us(us); }
  bool alive(const std::string& row = "a") {
    const auto read = node_.read_row("t", row);
    EXPECT_TRUE(read) << read.error().to_string();
    return read && !read->empty();
  }
  TabletDescriptor tablet(size_t i = 0) { return node_.table("t")->tablets.at(i); }
  uint32_t other_shard() { return 1 - tablet().shard.value(); }

  // Reads row a of the table's only tablet after its death; then the wall clock steps back by an
  // hour.
  void let_a_die_and_step_back() {
    std::vector<support::OwnedMutation> ops = {set_cell("f:q", 1, "v")};
    ops[0].expire_at_us = clock().wall_us() + 5 * kSecondUs;
    ASSERT_TRUE(node_.write("t", "a", ops));
    ASSERT_TRUE(alive());
    for (int i = 0; i < 60 && alive(); ++i) pass(kSecondUs / 10);
    ASSERT_FALSE(alive());
    clock().set_wall_us(clock().wall_us() - kHourUs);
    ASSERT_FALSE(alive());
  }
  void expect_dead_for(int64_t us) {
    for (int64_t passed_us = 0; passed_us < us; passed_us += kSecondUs / 2) {
      ASSERT_FALSE(alive()) << passed_us / 1000 << " ms later";
      pass(kSecondUs / 2);
    }
  }

  TestNode node_;
};

TEST_F(ClockShards, AMoveBringsNoDeadCellBack) {
  let_a_die_and_step_back();
  ASSERT_TRUE(node_.move(tablet().id, other_shard()));
  expect_dead_for(20 * kSecondUs);
}

TEST_F(ClockShards, AMoveThereAndBackBringsNoDeadCellBack) {
  let_a_die_and_step_back();
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(node_.move(tablet().id, other_shard()));
    ASSERT_FALSE(alive()) << i;
  }
}

TEST_F(ClockShards, AMergeBringsNoDeadCellBack) {
  ASSERT_TRUE(node_.split(tablet().id, "m"));
  ASSERT_TRUE(node_.move(tablet(1).id, other_shard()));
  // A merge keeps the shard of the left tablet, so the dying cell is in the right one.
  std::vector<support::OwnedMutation> ops = {set_cell("f:q", 1, "v")};
  ops[0].expire_at_us = clock().wall_us() + 5 * kSecondUs;
  ASSERT_TRUE(node_.write("t", "z", ops));
  for (int i = 0; i < 60 && alive("z"); ++i) pass(kSecondUs / 10);
  ASSERT_FALSE(alive("z"));
  clock().set_wall_us(clock().wall_us() - kHourUs);
  ASSERT_FALSE(alive("z"));
  ASSERT_TRUE(node_.merge(tablet(0).id, tablet(1).id));
  ASSERT_EQ(node_.table("t")->tablets.size(), 1u);
  EXPECT_FALSE(alive("z"));
}

TEST_F(ClockShards, TheBalancerBringsNoDeadCellBack) {
  std::string noise(5'000, 'n');
  Random random(7);
  for (char& c : noise) c = static_cast<char>(random.below(256));
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(node_.set("t", "r" + std::to_string(i), "f:q", 1, noise));
  }
  ASSERT_TRUE(node_.flush("t"));
  let_a_die_and_step_back();
  BalanceOptions options;
  options.early_split_bytes = 256 * 1024;
  Balancer balancer(node_.shard(0).runtime(), node_.node(), 2, options);
  balancer.start();
  const auto moved = [&] { return balancer.counters().moves > 0; };
  for (int i = 0; i < 600 && !moved(); ++i) {
    pass(kSecondUs / 10);
    ASSERT_FALSE(alive());
  }
  EXPECT_TRUE(moved()) << "nothing was tried";
  expect_dead_for(10 * kSecondUs);
  node_.world().block_on(node_.loop(0), balancer.stop());
}

// Between the installation of the children and the removal of the parents both may be read; the
// last answer of the parents counts too.
TEST_F(ClockShards, WhatTheSourceAnsweredDuringTheMoveCounts) {
  const TabletDescriptor before = tablet();
  std::vector<support::OwnedMutation> ops = {set_cell("f:q", 1, "v")};
  ops[0].expire_at_us = clock().wall_us() + 5 * kSecondUs;
  ASSERT_TRUE(node_.write("t", "a", ops));
  pass(3 * kSecondUs);
  ASSERT_TRUE(alive());
  clock().set_wall_us(clock().wall_us() - kHourUs);
  pass(4 * kSecondUs);
  // Between any two rounds of the world the wall clock is right for a moment, in which the source
  // is read while it still serves the tablet.
  bool read_dead = false;
  node_.on_round([&](TestNode& n) {
    clock().set_wall_us(clock().wall_us() + kHourUs);
    ReadSpec spec;
    spec.rows.add(KeyRange::single("a"));
    spec.rows.normalize();
    Count sink;
    const auto read =
        n.node().engine(before.shard).start_read(before.id, before.epoch, spec, sink, nullptr);
    if (read && read->step == ScanStep::done) read_dead |= sink.cells == 0;
    clock().set_wall_us(clock().wall_us() - kHourUs);
  });
  ASSERT_TRUE(node_.move(before.id, other_shard()));
  node_.on_round(nullptr);
  ASSERT_TRUE(read_dead);
  EXPECT_FALSE(alive());
}

// ---- anchors

TestNodeOptions renewed_when_asked() {
  TestNodeOptions options = renewing();
  options.engine.clock_renew_us = 0;
  return options;
}

class ClockAnchors : public ClockShards {
 protected:
  ClockAnchors() : ClockShards(renewed_when_asked()) {}
};

// Forward, a read on one shard, back: the next anchor covers the reading, on whichever shard it
// was.
TEST_F(ClockAnchors, AnAnchorAfterABackwardStepIsNotBeforeWhatAnyShardAnswered) {
  for (uint32_t shard = 0; shard < 2; ++shard) {
    if (tablet().shard != ShardId{shard}) ASSERT_TRUE(node_.move(tablet().id, shard));
    std::vector<support::OwnedMutation> ops = {set_cell("f:q", 1, "v")};
    ops[0].expire_at_us = clock().wall_us() + 5 * kSecondUs;
    ASSERT_TRUE(node_.write("t", "a", ops));
    clock().advance_us(8 * kSecondUs);
    ASSERT_FALSE(alive()) << shard;
    clock().set_wall_us(clock().wall_us() - 7 * kSecondUs);
    ASSERT_TRUE(node_.renew_clock());
    node_.kill();
    ASSERT_TRUE(node_.reopen());
    EXPECT_FALSE(alive()) << shard;
    clock().advance_us(10 * kSecondUs);
    ASSERT_TRUE(node_.renew_clock());
  }
}

// A reading of one shard counts for all shards from the next anchor on.
TEST_F(ClockAnchors, AnAnchorRaisesEveryClock) {
  let_a_die_and_step_back();
  ASSERT_TRUE(node_.renew_clock());
  const int64_t read_us = node_.shard(tablet().shard.value()).clock().now_us();
  EXPECT_EQ(node_.shard(other_shard()).clock().now_us(), read_us);
}

// The wall clock is right while the anchor is written, and wrong again when the node dies.
TEST_F(ClockAnchors, WhatIsAnsweredWhileAnAnchorIsWrittenIsNotUndercut) {
  const int64_t start_us = clock().wall_us();
  clock().advance_us(6 * kSecondUs);
  clock().set_wall_us(start_us + kSecondUs);
  int64_t answered_us = 0;
  node_.on_round([&](TestNode& node) {
    clock().set_wall_us(start_us + kHourUs);
    for (uint32_t i = 0; i < 2; ++i) {
      answered_us = std::max(answered_us, node.shard(i).clock().now_us());
    }
    clock().set_wall_us(start_us + kSecondUs);
  });
  // The first rounds precede the reading of the clocks; answers in them count too.
  ASSERT_TRUE(node_.renew_clock());
  node_.on_round(nullptr);
  node_.kill();
  ASSERT_TRUE(node_.reopen());
  EXPECT_GE(node_.clock_report().trusted_us, answered_us);
}

}  // namespace
}  // namespace cellar::engine
