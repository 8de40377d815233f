// A node of one table on simulated time, for tests of reclaiming.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "engine/node/reclaim_report.h"
#include "tests/support/durations.h"
#include "tests/support/test_node.h"

namespace cellar::support {

inline constexpr int64_t kStartUs = 1'000'000 * kHourUs / 1000;

class ReclaimBed : public testing::Test {
 protected:
  static TestNodeOptions options() {
    TestNodeOptions options;
    options.start_wall_us = kStartUs;
    return options;
  }
  void create(RetentionRule rule, int64_t undo_window_us = 0) {
    engine::TableSpec spec;
    spec.name = "t";
    spec.granularity = Granularity::micros;
    engine::FamilySpec& family = spec.families.emplace_back();
    family.name = "f";
    family.rule = std::move(rule);
    family.undo_window_us = undo_window_us;
    family.born_dead = BornDead::accept;
    ASSERT_TRUE(node_.create_table(std::move(spec)));
  }
  int64_t now_us() { return node_.world().clock().wall_us(); }
  void set(const std::string& row, int64_t timestamp_us, int64_t expire_at_us = kNoExpiry) {
    OwnedMutation op = set_cell("f:q", timestamp_us, "value");
    op.expire_at_us = expire_at_us;
    ASSERT_TRUE(node_.write("t", row, {op}));
  }
  // Runs the node for this long, then 200 more rounds, which may advance the time further.
  void pass(int64_t us) {
    const int64_t until_us = now_us() + us;
    Timer alarm(node_.loop(0).timers(), [](void*) {}, nullptr);
    alarm.arm_after_us(us);
    node_.world().run_until([&] { return now_us() >= until_us; });
    node_.world().run_until([calls = 0]() mutable { return ++calls > 200; });
  }
  void pass_exactly(int64_t us) {
    const int64_t until_us = now_us() + us;
    Timer alarm(node_.loop(0).timers(), [](void*) {}, nullptr);
    alarm.arm_after_us(us);
    while (now_us() < until_us) node_.world().run_until([&] { return now_us() >= until_us; });
  }
  uint64_t tables() { return node_.stats().tables_on_disk; }
  uint64_t compactions() { return node_.stats().compactions; }
  engine::TabletFigures figures() { return node_.figures("t").front(); }
  void set_options(std::optional<double> dead_slack, std::optional<double> share = {}) {
    engine::TableChange change;
    change.name = "t";
    change.options.dead_slack = dead_slack;
    change.options.reclaim_share = share;
    ASSERT_TRUE(node_.alter_table(change));
  }
  // `files`: the most files that are listed with their reasons.
  engine::ReclaimReport report(size_t files = 100) {
    auto report = node_.world().block_on(
        node_.loop(0), node_.node().reclaim_report(ShardId{0}, {TableId{}, files}));
    EXPECT_TRUE(report);
    return report ? *std::move(report) : engine::ReclaimReport{};
  }

  ReclaimBed() : ReclaimBed(options()) {}
  explicit ReclaimBed(TestNodeOptions options) : node_(std::move(options)) {}

  TestNode node_;
};

}  // namespace cellar::support
