// The own age of an index on disk (SEMANTICS 11.4, 11.8): entries past it leave under the table's
// reclaim deadline and count in its figures; a raised age brings back what still lives.
#include <gtest/gtest.h>

#include "tests/engine/gc/reclaim_bed.h"
#include "tests/engine/node/index_bed.h"

namespace cellar::support {
namespace {

constexpr uint64_t kRows = 50;

class IndexAge : public ReclaimBed {
 protected:
  // An index with an own age of an hour on cells that nothing else kills.
  void SetUp() override {
    create(RetentionRule{});
    set_options(0.0);
    IndexSpec spec = index_spec("i");
    spec.max_age_us = kHourUs;
    ASSERT_TRUE(node_.alter_table(creating(spec)));
    for (uint64_t i = 0; i < kRows; ++i) set(fmt::format("row{}", i), now_us());
    ASSERT_TRUE(node_.flush("t"));
    ASSERT_EQ(state().entries, kRows);
  }
  engine::IndexState state() { return node_.index_states("t")->states.at(0); }
  void set_age(std::optional<int64_t> us) {
    ASSERT_TRUE(
        node_.alter_table(altering_index({.name = "i", .max_age_us = us, .tighter_base = {}})));
  }
  bool get_ready() {
    for (int i = 0; i < 10'000 && !state().ready; ++i) node_.world().run_for_us(10'000);
    return state().ready;
  }
};

TEST_F(IndexAge, EntriesPastItLeaveTheDiskWithinTheDeadline) {
  pass_exactly(kHourUs / 2);
  EXPECT_EQ(figures().dead_bytes, 0u);
  pass_exactly(kHourUs / 2 + kMinuteUs);
  EXPECT_GT(figures().dead_bytes, 0u);
  EXPECT_EQ(state().entries, kRows) << "they have time";
  EXPECT_TRUE(state().ready);
  pass_exactly(kHourUs + 10 * kMinuteUs);
  EXPECT_EQ(state().entries, 0u);
  EXPECT_EQ(figures().dead_bytes, 0u);
  EXPECT_TRUE(state().ready) << "nothing is missing that a read finds";
  EXPECT_EQ(node_.cells("t").size(), kRows) << "the cells live on";
  const uint64_t merges = compactions();
  pass_exactly(10 * kHourUs);
  EXPECT_EQ(compactions(), merges);
}

TEST_F(IndexAge, ARaisedAgeIsBuiltAgainWhereEntriesHaveLeft) {
  pass_exactly(3 * kHourUs);
  ASSERT_EQ(state().entries, 0u);
  set_age(2 * kHourUs);
  EXPECT_TRUE(state().ready) << "what left is past this one too";
  set_age(100 * kHourUs);
  EXPECT_FALSE(state().ready);
  ASSERT_TRUE(get_ready());
  EXPECT_EQ(state().entries, kRows);
  set_age(std::nullopt);
  EXPECT_TRUE(state().ready) << "nothing had left";
}

TEST_F(IndexAge, AnAgeTakenAwayNeedsAllEntries) {
  pass_exactly(3 * kHourUs);
  ASSERT_EQ(state().entries, 0u);
  set_age(std::nullopt);
  EXPECT_FALSE(state().ready);
  ASSERT_TRUE(get_ready());
  EXPECT_EQ(state().entries, kRows);
}

TEST_F(IndexAge, AnAgeRaisedBeforeAnythingLeftIsReadyAtOnce) {
  set_age(50 * kHourUs);
  EXPECT_TRUE(state().ready);
  pass_exactly(3 * kHourUs);
  EXPECT_EQ(state().entries, kRows);
}

}  // namespace
}  // namespace cellar::support
