// Under random overwrites on simulated time the overdue bytes stay within dead_slack of the live
// bytes, by the node's figures and by an exact count; also if all tablets of a shard fall due
// together and everything has to be merged once per reclaim_within.
#include <gtest/gtest.h>

#include <deque>

#include "io/base/random.h"
#include "tests/engine/gc/reclaim_bed.h"

namespace cellar::support {
namespace {

constexpr int kSlackRows = 800;
constexpr size_t kValueBytes = 1000;
constexpr int64_t kWithinUs = 60'000'000;
constexpr int64_t kStepUs = 2'000'000;

class Slack : public ReclaimBed {
 protected:
  Slack() : ReclaimBed(with_latency()) {}
  explicit Slack(TestNodeOptions options) : ReclaimBed(std::move(options)) {}
  static TestNodeOptions with_latency() {
    TestNodeOptions options = ReclaimBed::options();
    options.engine.removal_margin_us = 0;
    options.min_latency_us = 50;
    options.max_latency_us = 500;
    return options;
  }
  void create_with(RetentionRule rule, double share, int tablets = 1) {
    engine::TableSpec spec;
    spec.name = "t";
    spec.granularity = Granularity::micros;
    spec.options.compression = Compression::none;
    spec.options.reclaim_within_us = kWithinUs;
    spec.options.dead_slack = 0.1;
    spec.options.reclaim_share = share;
    engine::FamilySpec& family = spec.families.emplace_back();
    family.name = "f";
    family.rule = std::move(rule);
    family.undo_window_us = 0;
    for (int i = 1; i < tablets; ++i)
      spec.splits.push_back(fmt::format("row{:04}", i * kSlackRows / tablets));
    ASSERT_TRUE(node_.create_table(std::move(spec)));
  }

  // Overwrites some rows every second; checks the figures every two seconds.
  void overwrite_for(int64_t us, int rows_a_step, bool same_timestamp) {
    Random random(11);
    int64_t step = 0;
    for (int i = 0; i < kSlackRows; ++i) {
      const auto row = fmt::format("row{:04}", i);
      ASSERT_TRUE(
          node_.set("t", row, "f:q", same_timestamp ? 5 : now_us(), std::string(kValueBytes, 'z')));
    }
    ASSERT_TRUE(node_.flush("t"));
    for (const int64_t until_us = now_us() + us; now_us() < until_us; ++step) {
      for (int i = 0; i < rows_a_step; ++i) {
        const auto row = fmt::format("row{:04}", random.below(kSlackRows));
        const int64_t timestamp_us = same_timestamp ? 5 : now_us();
        std::string value(kValueBytes, static_cast<char>('a' + step % 26));
        ASSERT_TRUE(node_.set("t", row, "f:q", timestamp_us, std::move(value)));
      }
      pass_exactly(kStepUs);
      look();
      if (count_every_ != 0 && step % count_every_ == 0) count();
    }
  }
  void look() {
    const engine::TableReclaim table = report(0).tables.front();
    const engine::ReclaimFigures& of = table.figures;
    const double allowed = 0.1 * static_cast<double>(of.live_bytes);
    if (of.live_bytes == 0) return;
    ++samples_;
    worst_ = std::max(worst_, static_cast<double>(of.overdue_bytes) / allowed);
    for (const engine::TabletFigures& tablet : node_.figures("t")) {
      const double part = 0.1 * static_cast<double>(std::max<uint64_t>(tablet.live_bytes, 1));
      worst_tablet_ = std::max(worst_tablet_, static_cast<double>(tablet.overdue_bytes) / part);
    }
    EXPECT_EQ(table.missed_since_us, INT64_MAX)
        << "overdue " << of.overdue_bytes << " of " << of.live_bytes << " live, at "
        << (now_us() - kStartUs) / 1'000'000 << " s";
  }

  // Counts cell by cell, with everything on disk.
  void count() {
    ASSERT_TRUE(node_.flush("t"));
    ReadSpec spec;
    spec.rows = RowSet::everything();
    spec.explain = spec.include_dead = true;
    const auto cells = node_.read_noted("t", spec);
    ASSERT_TRUE(cells);
    double live = 0;
    double overdue = 0;
    for (const NotedCell& one : *cells) {
      const auto bytes = static_cast<double>(one.cell.value.size());
      if (!one.note.dead) live += bytes;
      if (one.note.dead && one.note.dies_at_us <= now_us() - kWithinUs) overdue += bytes;
    }
    ++counts_;
    most_counted_ = std::max(most_counted_, overdue / (0.1 * live));
  }

  int64_t count_every_ = 0;
  size_t counts_ = 0;
  double most_counted_ = 0;  // as a share of the allowed bytes
  size_t samples_ = 0;
  double worst_ = 0;
  double worst_tablet_ = 0;
};

TEST_F(Slack, IsHeldThroughoutWhereOneVersionIsKept) {
  create_with(RetentionRule::max_versions(1), 0.25);
  overwrite_for(600'000'000, 24, false);
  EXPECT_GT(samples_, 200u);
  EXPECT_GT(compactions(), 3u);
  EXPECT_LE(worst_, 1.0);
}

TEST_F(Slack, AnExactCountAgrees) {
  create_with(RetentionRule::max_versions(1), 0.25);
  count_every_ = 7;
  overwrite_for(400'000'000, 24, false);
  EXPECT_GT(counts_, 20u);
  EXPECT_GT(compactions(), 3u);
  EXPECT_GT(most_counted_, 0) << "there is something to count";
  EXPECT_LE(most_counted_, 1.0);
  EXPECT_LE(worst_, 1.0);
}

TEST_F(Slack, IsHeldThroughoutWhereCellsAreReplaced) {
  create_with(RetentionRule{}, 0.25);
  overwrite_for(600'000'000, 24, true);
  EXPECT_GT(samples_, 200u);
  EXPECT_GT(compactions(), 3u);
  EXPECT_LE(worst_, 1.0);
}

TEST_F(Slack, IsHeldThroughoutWhereCellsAge) {
  create_with(RetentionRule::max_age_us(120'000'000), 0.25);
  overwrite_for(600'000'000, 24, false);
  EXPECT_GT(samples_, 200u);
  EXPECT_LE(worst_, 1.0);
}

// Nearly all live bytes are overwritten within reclaim_within, in eight tablets that fall due
// together, on a slow disk. A tablet that begins only as long before its deadline as its own work
// takes waits for the seven others and is late.
class SlackOfMany : public Slack {
 protected:
  static constexpr int kTablets = 8;
  static constexpr int kRowsAStep = kSlackRows * 2 / (kWithinUs / kStepUs);
  static TestNodeOptions slow() {
    TestNodeOptions options = with_latency();
    options.min_latency_us = 20'000;
    options.max_latency_us = 60'000;
    options.engine.memtable_bytes = 1u << 20;
    return options;
  }
  SlackOfMany() : Slack(slow()) {}
};

TEST_F(SlackOfMany, IsHeldThroughoutWhereTheyFallDueTogether) {
  create_with(RetentionRule::max_versions(1), 0.05, kTablets);
  overwrite_for(600'000'000, kRowsAStep, false);
  EXPECT_GT(samples_, 100u);
  EXPECT_GE(compactions(), 4u * kTablets) << "each is merged once in a deadline";
  EXPECT_LE(worst_, 1.0);
  EXPECT_LE(worst_tablet_, 1.0) << "each within its own, although they wait for one another";
  RecordProperty("tablet", fmt::format("{:.2f}", worst_tablet_));
  RecordProperty("compactions", static_cast<int>(compactions()));
  RecordProperty("worst", fmt::format("{:.2f}", worst_));
}

}  // namespace
}  // namespace cellar::support
