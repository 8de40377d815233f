// The model of a row, and the histories that it must and must not explain.
#include "tests/simulation/row_machine.h"

#include <gtest/gtest.h>

#include "tests/support/durations.h"
#include "tests/support/linearizability.h"

namespace cellar::simulation {
namespace {

using Verdict = support::Linearization::Verdict;

class RowMachineTest : public testing::Test {
 protected:
  RowOp at(Verb verb, uint64_t call, uint64_t ret, int64_t from_us = 0, int64_t to_us = 0) {
    RowOp op;
    op.verb = verb;
    op.call = call;
    op.ret = ret;
    op.from_us = from_us;
    op.to_us = to_us == 0 ? INT64_MAX : to_us;
    return op;
  }
  static OwnedMutation set(std::string family, std::string qualifier, std::string value,
                           int64_t timestamp_us = kServerStamped) {
    OwnedMutation op;
    op.family = std::move(family);
    op.qualifier = std::move(qualifier);
    op.value = std::move(value);
    op.timestamp_us = timestamp_us;
    return op;
  }
  void write(uint64_t call, uint64_t ret, OwnedMutation op, bool durable = true) {
    RowOp& made = ops.emplace_back(at(Verb::mutate, call, ret));
    made.ops = {std::move(op)};
    made.durable = durable;
  }
  void read(uint64_t call, std::vector<SeenCell> cells, int64_t from_us = 0, int64_t to_us = 0) {
    ops.emplace_back(at(Verb::read, call, call + 1, from_us, to_us)).seen = std::move(cells);
  }
  void change(uint64_t call, std::string family, int64_t rule, int64_t from_us = 0) {
    RowOp& made = ops.emplace_back(at(Verb::change_rule, call, call + 1, from_us, from_us));
    made.family = std::move(family);
    made.rule = rule;
  }
  Verdict verdict() const {
    const RowMachine machine(families, Granularity::micros, ops);
    return support::LinearizabilityChecker<RowMachine>(machine)
        .check(ops, machine.initial())
        .verdict;
  }

  std::vector<FamilyPlan> families = {{"a", FamilyKind::versions, 2, true},
                                      {"b", FamilyKind::age, 10 * kSecondUs, true}};
  std::vector<RowOp> ops;
};

TEST_F(RowMachineTest, OnlyTheNewestVersionsAreRead) {
  for (int i = 1; i <= 3; ++i) {
    write(static_cast<uint64_t>(10 * i), static_cast<uint64_t>(10 * i + 1),
          set("a", "e", "v" + std::to_string(i), 1000 * i));
  }
  read(50, {{"a", "e", 3000, "v3"}, {"a", "e", 2000, "v2"}});
  EXPECT_EQ(verdict(), Verdict::linearizable);
  read(60, {{"a", "e", 3000, "v3"}, {"a", "e", 2000, "v2"}, {"a", "e", 1000, "v1"}});
  EXPECT_EQ(verdict(), Verdict::violation);
}

TEST_F(RowMachineTest, ACellDiesAfterItsAgeAndStaysDead) {
  write(1, 2, set("b", "e", "v", 100 * kSecondUs));
  read(3, {{"b", "e", 100 * kSecondUs, "v"}}, 110 * kSecondUs, 110 * kSecondUs);
  EXPECT_EQ(verdict(), Verdict::linearizable);
  read(5, {}, 110 * kSecondUs + 1, 110 * kSecondUs + 1);
  EXPECT_EQ(verdict(), Verdict::linearizable);
  change(7, "b", 0, 120 * kSecondUs);  // looser: it brings nothing back
  read(9, {}, 120 * kSecondUs, 121 * kSecondUs);
  EXPECT_EQ(verdict(), Verdict::linearizable);
  read(11, {{"b", "e", 100 * kSecondUs, "v"}}, 120 * kSecondUs, 121 * kSecondUs);
  EXPECT_EQ(verdict(), Verdict::violation);
}

// A cell whose timestamp no answer told may be as young as its answer.
TEST_F(RowMachineTest, AConditionSeesACellWhoseTimestampIsNotKnown) {
  RowOp& made = ops.emplace_back(at(Verb::mutate, 1, 2, 0, 100 * kSecondUs));
  made.ops = {set("b", "s", "v")};
  RowOp& check = ops.emplace_back(at(Verb::check, 3, 4, 0, 102 * kSecondUs));
  check.stamp_ns = 102 * kSecondUs * 1'000;
  check.matched = true;
  check.ops = {set("a", "e", "w", 1000)};
  EXPECT_EQ(verdict(), Verdict::linearizable);
  ops.back().stamp_ns = 0;
  ops.back().from_us = 111 * kSecondUs;
  ops.back().to_us = 112 * kSecondUs;
  EXPECT_EQ(verdict(), Verdict::violation) << "it is dead by then";
}

TEST_F(RowMachineTest, ACellDoesNotDieEarly) {
  write(1, 2, set("b", "e", "v", 100 * kSecondUs));
  read(3, {}, 105 * kSecondUs, 110 * kSecondUs);
  EXPECT_EQ(verdict(), Verdict::violation);
}

TEST_F(RowMachineTest, AnUndoneTighteningWasNeverInForce) {
  write(1, 2, set("a", "e", "v1", 1000));
  write(3, 4, set("a", "e", "v2", 2000));
  change(5, "a", 1);
  read(7, {{"a", "e", 2000, "v2"}});
  write(9, 10, set("a", "e", "v3", 3000));
  RowOp undo = at(Verb::undo_rule, 11, 12);
  undo.family = "a";
  ops.push_back(undo);
  read(13, {{"a", "e", 3000, "v3"}, {"a", "e", 2000, "v2"}});
  EXPECT_EQ(verdict(), Verdict::linearizable);
  read(15, {{"a", "e", 3000, "v3"}});
  EXPECT_EQ(verdict(), Verdict::violation);
}

// Trusted time goes back at no crash; what stands above it within its microsecond does, with the
// commits that had it.
TEST_F(RowMachineTest, AfterACrashStampsBeginAtTheTimeThatStands) {
  const auto stamped = [&](uint64_t call, uint64_t stamp_ns, bool durable) {
    write(call, call + 1, set("a", "e", "v" + std::to_string(call), static_cast<int64_t>(call)),
          durable);
    ops.back().stamp_ns = stamp_ns;
  };
  stamped(1, 5'000'003, false);
  ops.push_back(at(Verb::crash, 5, 6));
  stamped(7, 5'000'000, true);
  read(9, {{"a", "e", 7, "v7"}});
  EXPECT_EQ(verdict(), Verdict::linearizable);
  ops[2].stamp_ns = 4'999'999;
  EXPECT_EQ(verdict(), Verdict::violation);
  ops[2].stamp_ns = 5'000'000;
  ops[0].durable = true;
  ops[3].seen.push_back({"a", "e", 1, "v1"});
  EXPECT_EQ(verdict(), Verdict::violation) << "nothing was taken back";
}

TEST_F(RowMachineTest, ACrashTakesBackWhatIsNotDurable) {
  write(1, 2, set("a", "e", "v1", 1000));
  write(3, 4, set("a", "e", "v2", 2000), false);
  ops.push_back(at(Verb::crash, 5, 6));
  read(7, {{"a", "e", 1000, "v1"}});
  EXPECT_EQ(verdict(), Verdict::linearizable);
  ops.pop_back();
  read(7, {{"a", "e", 2000, "v2"}, {"a", "e", 1000, "v1"}});
  EXPECT_EQ(verdict(), Verdict::linearizable);
  ops.pop_back();
  read(7, {});
  EXPECT_EQ(verdict(), Verdict::violation);
}

// When it was committed is not known, nor when it dies, because no read has returned it.
TEST_F(RowMachineTest, ATimeToLiveCountsFromAnyInstantOfItsWrite) {
  OwnedMutation cell = set("b", "e", "v", 100 * kSecondUs);
  cell.ttl_us = 20 * kSecondUs;
  write(1, 2, cell);
  ops.back().to_us = 105 * kSecondUs;
  RowOp& met = ops.emplace_back(at(Verb::check, 3, 4));
  met.ops = {set("a", "e", "w", 1000)};
  met.matched = true;
  met.stamp_ns = 110'000'000'000;
  EXPECT_EQ(verdict(), Verdict::linearizable);
  met.matched = false;
  met.otherwise = std::exchange(met.ops, {});
  EXPECT_EQ(verdict(), Verdict::linearizable);
  met.from_us = 126 * kSecondUs;
  met.stamp_ns = 126'000'000'000;
  EXPECT_EQ(verdict(), Verdict::linearizable);
  met.matched = true;
  met.ops = std::exchange(met.otherwise, {});
  EXPECT_EQ(verdict(), Verdict::violation) << "dead by then in any case";
}

// A tightening is loosened when a cell that it hid has died under the rule before it.
TEST_F(RowMachineTest, ALooseningMayComeAfterADeathUnderTheRuleItBringsBack) {
  write(1, 2, set("b", "e", "old", 100 * kSecondUs));
  ops.back().stamp_ns = 105'000'000'000;
  write(3, 4, set("b", "e", "new", 104 * kSecondUs));
  ops.back().stamp_ns = 105'100'000'000;
  change(5, "b", 2 * kSecondUs, 105'200'000);
  change(7, "b", 0);
  ops.back().to_us = 200 * kSecondUs;
  read(9, {{"b", "e", 104 * kSecondUs, "new"}});
  EXPECT_EQ(verdict(), Verdict::linearizable);
  ops.pop_back();
  read(9, {});
  EXPECT_EQ(verdict(), Verdict::linearizable) << "or after both";
}

TEST_F(RowMachineTest, ARuleChangeMakesTheEarlierCommitsDurable) {
  write(1, 2, set("a", "e", "w", 1000), false);
  change(3, "b", 0);
  ops.push_back(at(Verb::crash, 5, 6));
  read(7, {{"a", "e", 1000, "w"}});
  EXPECT_EQ(verdict(), Verdict::linearizable);
  ops.pop_back();
  read(7, {});
  EXPECT_EQ(verdict(), Verdict::violation);
}

TEST_F(RowMachineTest, ADurableCommitMakesTheEarlierOnesDurable) {
  write(1, 2, set("a", "e", "v1", 1000), false);
  write(3, 4, set("a", "e", "v2", 2000));
  ops.push_back(at(Verb::crash, 5, 6));
  read(7, {{"a", "e", 2000, "v2"}});
  EXPECT_EQ(verdict(), Verdict::violation);
}

TEST_F(RowMachineTest, AnIncrementIsAppliedOnce) {
  RowOp add = at(Verb::modify, 1, UINT64_MAX);
  add.rules = {{"a", "c", {}, 1}};
  ops.push_back(add);
  const std::string one = {0, 0, 0, 0, 0, 0, 0, 1};
  const std::string two = {0, 0, 0, 0, 0, 0, 0, 2};
  read(3, {{"a", "c", 5000, one}});
  EXPECT_EQ(verdict(), Verdict::linearizable);
  read(5, {{"a", "c", 6000, two}, {"a", "c", 5000, one}});
  EXPECT_EQ(verdict(), Verdict::violation);
}

// The first increment was not read; that a later one has the same value does not date it.
TEST_F(RowMachineTest, ACounterMayHaveOneValueTwice) {
  const std::string one = {0, 0, 0, 0, 0, 0, 0, 1};
  const std::string two = {0, 0, 0, 0, 0, 0, 0, 2};
  const auto add = [this](uint64_t call, uint64_t ret, std::vector<SeenCell> seen) {
    RowOp& op = ops.emplace_back(at(Verb::modify, call, ret));
    op.rules = {{"a", "c", {}, 1}};
    op.seen = std::move(seen);
  };
  add(1, UINT64_MAX, {});
  add(2, 3, {{"a", "c", 5000, two}});
  RowOp& gone = ops.emplace_back(at(Verb::mutate, 4, 5));
  gone.ops.emplace_back().kind = Mutation::Kind::delete_from_row;
  add(6, 7, {{"a", "c", 9000, one}});
  EXPECT_EQ(verdict(), Verdict::linearizable);
}

TEST_F(RowMachineTest, AnExpiryCountsFromTheCommit) {
  OwnedMutation op = set("b", "t", "v", 100 * kSecondUs);
  op.ttl_us = 5 * kSecondUs;
  RowOp& made = ops.emplace_back(at(Verb::mutate, 1, 2, 100 * kSecondUs, 101 * kSecondUs));
  made.ops = {op};
  const SeenCell cell{"b", "t", 100 * kSecondUs, "v", 105'500'000};
  read(3, {cell}, 105 * kSecondUs, 105'500'000);
  read(5, {}, 105'500'001, 105'500'001);
  EXPECT_EQ(verdict(), Verdict::linearizable);
  read(7, {cell}, 105'500'002, 105'500'002);
  EXPECT_EQ(verdict(), Verdict::violation);
}

TEST_F(RowMachineTest, TheStampOfTheAnswerIsTheTimeOfTheCommit) {
  write(1, 2, set("b", "s", "v"));
  ops.back().stamp_ns = 100'000'000'500;
  read(3, {{"b", "s", 100 * kSecondUs, "v"}}, 105 * kSecondUs, 105 * kSecondUs);
  EXPECT_EQ(verdict(), Verdict::linearizable);
  ops.front().stamp_ns = 100'000'001'000;
  EXPECT_EQ(verdict(), Verdict::violation);
  ops.front().stamp_ns = 100'000'000'500;
  write(5, 6, set("b", "e", "w", 100 * kSecondUs));
  ops.back().stamp_ns = 100'000'000'499;  // later, with an earlier stamp
  EXPECT_EQ(verdict(), Verdict::violation);
}

TEST_F(RowMachineTest, ADroppedTableAnswersNothingAndComesBackWhole) {
  write(1, 2, set("a", "e", "v1", 1000));
  ops.push_back(at(Verb::drop_table, 3, 4));
  RowOp absent = at(Verb::read, 5, 6);
  absent.refused = Refused::absent;
  ops.push_back(absent);
  ops.push_back(at(Verb::restore_table, 7, 8));
  read(9, {{"a", "e", 1000, "v1"}});
  EXPECT_EQ(verdict(), Verdict::linearizable);
  absent.call = 11, absent.ret = 12;
  ops.push_back(absent);
  EXPECT_EQ(verdict(), Verdict::violation);
}

}  // namespace
}  // namespace cellar::simulation
