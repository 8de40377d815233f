// What a history tells of requests that were not answered.
#include "tests/simulation/history.h"

#include <gtest/gtest.h>

#include "tests/simulation/plan.h"

namespace cellar::simulation {
namespace {

class HistoryTest : public testing::Test {
 protected:
  HistoryTest() : history(plan()), row(history.rows().front()) {}

  static Plan plan() {
    Plan plan = Plan::of(1);
    plan.families = {{"a", FamilyKind::versions, 0, true}, {"b", FamilyKind::age, 0, true}};
    return plan;
  }
  // A write that its client gives up.
  void lose(const std::string& value) {
    RowOp op = begin(Verb::mutate);
    OwnedMutation set;
    set.family = "a";
    set.qualifier = "e";
    set.value = value;
    set.timestamp_us = 1000;
    op.ops = {set};
    op.ret = UINT64_MAX;
    op.given_up = history.tick();
    history.add("t", row, op);
  }
  void read(const std::string& value) {
    RowOp op = begin(Verb::read);
    if (!value.empty()) op.seen = {{"a", "e", 1000, value, kNoExpiry}};
    op.ret = history.tick();
    history.add("t", row, op);
  }
  RowOp begin(Verb verb) {
    RowOp op;
    op.verb = verb;
    op.call = history.tick();
    op.to_us = INT64_MAX;
    return op;
  }
  bool is_explained() const { return !history.check().problem; }

  RowHistories history;
  const std::string row;
};

TEST_F(HistoryTest, ALostWriteMayTakeEffectUntilTheNextCrash) {
  lose("v");
  read("");
  read("v");
  EXPECT_TRUE(is_explained());
}

TEST_F(HistoryTest, ALostWriteTakesNoEffectAfterTheCrashThatFollowsIt) {
  lose("v");
  history.add_crash();
  read("");
  EXPECT_TRUE(is_explained());
  read("v");
  EXPECT_FALSE(is_explained());
}

TEST_F(HistoryTest, ALostWriteThatIsReadTookEffectBefore) {
  lose("v");
  read("v");
  lose("w");
  read("w");
  EXPECT_TRUE(is_explained());
  read("v");
  EXPECT_FALSE(is_explained());
}

}  // namespace
}  // namespace cellar::simulation
