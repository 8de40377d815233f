// Which tablet of a shard is next: of two tables with dead bytes the one with the earlier deadline,
// and how early each begins.
#include "engine/gc/reclaim_forecast.h"
#include "engine/gc/reclaim_queue.h"
#include "engine/shard/shard_engine.h"
#include "tests/engine/gc/reclaim_bed.h"

namespace cellar::support {
namespace {

using engine::ReclaimState;
using engine::ReclaimTurn;
using engine::Tablet;

class Plan : public ReclaimBed {
 protected:
  static constexpr size_t kValueBytes = 20'000;

  void create(const std::string& name, int64_t within_us, double share = 0.25) {
    engine::TableSpec spec;
    spec.name = name;
    spec.granularity = Granularity::micros;
    spec.options.compression = Compression::none;
    spec.options.reclaim_within_us = within_us;
    spec.options.reclaim_share = share;
    engine::FamilySpec& family = spec.families.emplace_back();
    family.name = "f";
    family.undo_window_us = 0;
    ASSERT_TRUE(node_.create_table(std::move(spec)));
  }
  // A cell that stays and one that dies in a while, in one table on disk.
  void fill(const std::string& name, int64_t dies_in_us) {
    OwnedMutation dying = set_cell("f:dying", now_us(), std::string(kValueBytes, 'd'));
    dying.expire_at_us = now_us() + dies_in_us;
    ASSERT_TRUE(node_.write(name, "row", {dying}));
    ASSERT_TRUE(
        node_.write(name, "row", {set_cell("f:stays", now_us(), std::string(kValueBytes, 's'))}));
    ASSERT_TRUE(node_.flush(name));
  }
  Tablet& tablet_of(const std::string& name) {
    auto& shard = static_cast<engine::ShardEngine&>(node_.node().engine(ShardId{0}));
    return *shard.tablets().at(node_.table(name)->tablets.front().id);
  }
  // The plan after this time; the node has not run meanwhile.
  ReclaimTurn plan_after(int64_t us) {
    node_.world().clock().advance_us(us);
    return engine::plan_reclaims({&tablet_of("a"), &tablet_of("b")});
  }
};

TEST_F(Plan, OfThoseThatMayBeginTheFirstDeadlineIsNextAndTheOtherFollows) {
  create("a", 20 * kMinuteUs);
  create("b", 10 * kMinuteUs);
  fill("a", 5 * kMinuteUs);
  fill("b", 5 * kMinuteUs);
  // Both are overdue by more than the slack, and b's deadline is earlier.
  ReclaimTurn turn = plan_after(2 * kHourUs);
  ASSERT_EQ(turn.tablet, tablet_of("b").id());
  EXPECT_EQ(turn.following, tablet_of("a").id());
  EXPECT_LT(reclaim_forecast(tablet_of("b")).slack_out_us(tablet_of("b")),
            reclaim_forecast(tablet_of("a")).slack_out_us(tablet_of("a")));
  // A tablet that may not begin yet gives way to the other.
  ReclaimState::of(tablet_of("b")).attempt.not_before_us = now_us() + kMinuteUs;
  turn = plan_after(0);
  EXPECT_EQ(turn.tablet, tablet_of("a").id());
  EXPECT_EQ(turn.following, tablet_of("b").id());
}

TEST_F(Plan, WhatIsFarAwayDoesNotFollow) {
  create("a", 10 * kMinuteUs);
  create("b", 10 * kMinuteUs);
  fill("a", 5 * kMinuteUs);
  fill("b", 300 * kMinuteUs);
  const ReclaimTurn turn = plan_after(kMinuteUs);
  ASSERT_EQ(turn.tablet, tablet_of("a").id());
  EXPECT_EQ(turn.following, std::nullopt);
}

TEST_F(Plan, WhatIsInMemoryIsWrittenAndThenReadSoItsWorkBeginsEarlier) {
  create("a", 10 * kMinuteUs);
  create("b", 10 * kMinuteUs);
  fill("a", 5 * kMinuteUs);
  (void)plan_after(kMinuteUs);
  const int64_t on_disk_us = ReclaimState::of(tablet_of("a")).lead_us;
  EXPECT_GT(on_disk_us, 0);
  ASSERT_TRUE(
      node_.write("a", "row", {set_cell("f:more", now_us(), std::string(kValueBytes, 'm'))}));
  (void)plan_after(kMinuteUs);
  // Three values are read and one is written, where two were read.
  const double times = static_cast<double>(ReclaimState::of(tablet_of("a")).lead_us) /
                       static_cast<double>(on_disk_us);
  EXPECT_NEAR(times, 2, 0.2);
}

}  // namespace
}  // namespace cellar::support
