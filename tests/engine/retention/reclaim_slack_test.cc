// Under random overwrites on simulated time, what is overdue stays within dead_slack of what lives:
// by the node's figures and by an exact count.
#include <gtest/gtest.h>

#include <deque>

#include "io/base/random.h"
#include "tests/engine/retention/reclaim_bed.h"

namespace cellar::support {
namespace {

constexpr int kRows = 800;
constexpr size_t kValueBytes = 1000;
constexpr int64_t kWithinUs = 60'000'000;
constexpr int64_t kStepUs = 2'000'000;

class Slack : public ReclaimBed {
 protected:
  Slack() : ReclaimBed(with_latency()) {}
  static TestNodeOptions with_latency() {
    TestNodeOptions options = ReclaimBed::options();
    options.engine.removal_margin_us = 0;
    options.min_latency_us = 50;
    options.max_latency_us = 500;
    return options;
  }
  void create_with(RetentionRule rule, double share) {
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
    ASSERT_TRUE(node_.create_table(std::move(spec)));
  }

  // Each second some rows are overwritten; every two seconds the figures are looked at.
  void overwrite_for(int64_t us, int rows_a_step, bool same_timestamp) {
    Random random(11);
    int64_t step = 0;
    for (int i = 0; i < kRows; ++i) {
      const auto row = fmt::format("row{:04}", i);
      ASSERT_TRUE(
          node_.set("t", row, "f:q", same_timestamp ? 5 : now_us(), std::string(kValueBytes, 'z')));
    }
    ASSERT_TRUE(node_.flush("t"));
    for (const int64_t until_us = now_us() + us; now_us() < until_us; ++step) {
      for (int i = 0; i < rows_a_step; ++i) {
        const auto row = fmt::format("row{:04}", random.below(kRows));
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
    const engine::TabletFigures of = figures();
    const double allowed = 0.1 * static_cast<double>(of.live_bytes);
    if (of.live_bytes == 0) return;
    ++samples_;
    worst_ = std::max(worst_, static_cast<double>(of.overdue_bytes) / allowed);
    const engine::TableReclaim table = report(0).tables.front();
    EXPECT_EQ(table.missed_since_us, INT64_MAX)
        << "overdue " << of.overdue_bytes << " of " << of.live_bytes << " live, at "
        << (now_us() - kStartUs) / 1'000'000 << " s";
  }

  // Cell by cell, with everything on disk.
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
  double most_counted_ = 0;  // of what is allowed
  size_t samples_ = 0;
  double worst_ = 0;
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

}  // namespace
}  // namespace cellar::support
