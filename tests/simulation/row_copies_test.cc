// The model of a row: rules of an age and a number of versions, backups and restored tables.
#include <gtest/gtest.h>

#include "tests/simulation/mixed_rules.h"
#include "tests/simulation/row_machine.h"
#include "tests/support/durations.h"
#include "tests/support/linearizability.h"

namespace cellar::simulation {
namespace {

using Verdict = support::Linearization::Verdict;

class RowCopiesTest : public testing::Test {
 protected:
  RowOp& add(Verb verb, int64_t from_us = 0, int64_t to_us = INT64_MAX) {
    RowOp& op = ops.emplace_back();
    op.verb = verb;
    op.call = ++tick;
    op.ret = ++tick;
    op.from_us = from_us;
    op.to_us = to_us;
    return op;
  }
  // At a known instant.
  RowOp& write(std::string value, int64_t timestamp_us, int64_t at_us,
               int64_t expire_at_us = kNoExpiry, std::string family = "m") {
    RowOp& op = add(Verb::mutate, 0, at_us);
    op.stamp_ns = static_cast<uint64_t>(at_us) * 1'000;
    OwnedMutation& set = op.ops.emplace_back();
    set.family = std::move(family);
    set.qualifier = "e";
    set.value = std::move(value);
    set.timestamp_us = timestamp_us;
    set.expire_at_us = expire_at_us;
    return op;
  }
  RowOp& read(std::vector<SeenCell> cells, int64_t at_us, uint32_t branch = 0) {
    RowOp& op = add(Verb::read, at_us, at_us);
    op.seen = std::move(cells);
    op.branch = branch;
    return op;
  }
  RowOp& change(int64_t rule, int64_t at_us, uint32_t branch = 0) {
    RowOp& op = add(Verb::change_rule, at_us, at_us);
    op.family = "m";
    op.rule = rule;
    op.branch = branch;
    return op;
  }
  RowOp& back_up(uint32_t number) {
    RowOp& op = add(Verb::back_up);
    op.backup = number;
    op.sealed = true;
    return op;
  }
  void restore(uint32_t number, uint32_t branch) {
    RowOp& op = add(Verb::restore_backup);
    op.backup = number;
    op.branch = branch;
  }
  Verdict verdict() const {
    const RowMachine machine(families, Granularity::micros, ops);
    return support::LinearizabilityChecker<RowMachine>(machine)
        .check(ops, machine.initial())
        .verdict;
  }
  static SeenCell cell(std::string value, int64_t timestamp_us) {
    return {"m", "e", timestamp_us, std::move(value), kNoExpiry};
  }

  std::vector<FamilyPlan> families = {{"a", FamilyKind::versions, 0, true},
                                      {"m", FamilyKind::mixed, 0, true}};
  std::vector<RowOp> ops;
  uint64_t tick = 0;
};

// SEMANTICS 9.6, with one version: what is older than 40 s, or not the newest.
TEST_F(RowCopiesTest, AUnionKillsByEither) {
  families[1].rule = 1;
  write("old", 100 * kSecondUs, 101 * kSecondUs);
  write("new", 110 * kSecondUs, 111 * kSecondUs);
  read({cell("new", 110 * kSecondUs)}, 112 * kSecondUs);
  read({cell("new", 110 * kSecondUs)}, 150 * kSecondUs);
  read({}, 150 * kSecondUs + 1);
  EXPECT_EQ(verdict(), Verdict::linearizable);
  read({cell("new", 110 * kSecondUs)}, 150 * kSecondUs + 1);
  EXPECT_EQ(verdict(), Verdict::violation);
}

TEST_F(RowCopiesTest, AnIntersectionKillsByBoth) {
  families[1].rule = 6;  // 90 s and one newer
  write("old", 100 * kSecondUs, 101 * kSecondUs);
  write("new", 110 * kSecondUs, 111 * kSecondUs);
  read({cell("new", 110 * kSecondUs), cell("old", 100 * kSecondUs)}, 190 * kSecondUs);
  read({cell("new", 110 * kSecondUs)}, 190 * kSecondUs + 1);
  read({cell("new", 110 * kSecondUs)}, 900 * kSecondUs);
  EXPECT_EQ(verdict(), Verdict::linearizable);
  read({}, 900 * kSecondUs);
  EXPECT_EQ(verdict(), Verdict::violation);
}

// What was pushed out stays out when the newer version dies before its time.
TEST_F(RowCopiesTest, DeadIsDeadAlthoughTheNewerVersionExpires) {
  families[1].rule = 2;  // 40 s, or two newer
  write("one", 100 * kSecondUs, 101 * kSecondUs);
  write("two", 101 * kSecondUs, 102 * kSecondUs);
  write("three", 102 * kSecondUs, 103 * kSecondUs, 110 * kSecondUs);
  read({cell("two", 101 * kSecondUs)}, 120 * kSecondUs);
  EXPECT_EQ(verdict(), Verdict::linearizable);
  read({cell("two", 101 * kSecondUs), cell("one", 100 * kSecondUs)}, 121 * kSecondUs);
  EXPECT_EQ(verdict(), Verdict::violation);
}

// The version that counts has died when the next one is written.
TEST_F(RowCopiesTest, WhatHasExpiredCountsNoMore) {
  families[1].rule = 2;
  write("one", 100 * kSecondUs, 101 * kSecondUs);
  write("two", 101 * kSecondUs, 102 * kSecondUs, 105 * kSecondUs);
  write("three", 102 * kSecondUs, 106 * kSecondUs);
  read({cell("three", 102 * kSecondUs), cell("one", 100 * kSecondUs)}, 107 * kSecondUs);
  EXPECT_EQ(verdict(), Verdict::linearizable);
  ops.pop_back();
  read({cell("three", 102 * kSecondUs)}, 107 * kSecondUs);
  EXPECT_EQ(verdict(), Verdict::violation);
}

// Whether it had expired then is not known: either, but it stays so.
TEST_F(RowCopiesTest, ACommitWhoseInstantIsNotKnownIsTriedOnBothSidesOfADeath) {
  families[1].rule = 2;
  write("one", 100 * kSecondUs, 101 * kSecondUs);
  write("two", 101 * kSecondUs, 102 * kSecondUs, 105 * kSecondUs);
  RowOp& late = write("three", 102 * kSecondUs, 108 * kSecondUs);
  late.stamp_ns = 0;
  late.from_us = 103 * kSecondUs;
  read({cell("three", 102 * kSecondUs), cell("one", 100 * kSecondUs)}, 109 * kSecondUs);
  EXPECT_EQ(verdict(), Verdict::linearizable);
  ops.pop_back();
  read({cell("three", 102 * kSecondUs)}, 109 * kSecondUs);
  EXPECT_EQ(verdict(), Verdict::linearizable);
  read({cell("three", 102 * kSecondUs), cell("one", 100 * kSecondUs)}, 109 * kSecondUs);
  EXPECT_EQ(verdict(), Verdict::violation);
}

TEST_F(RowCopiesTest, AnUndoneMixedRuleWasNeverInForce) {
  write("one", 100 * kSecondUs, 101 * kSecondUs);
  write("two", 101 * kSecondUs, 102 * kSecondUs);
  change(1, 103 * kSecondUs);
  read({cell("two", 101 * kSecondUs)}, 104 * kSecondUs);
  change(6, 105 * kSecondUs);  // looser than 1: which then never was
  read({cell("two", 101 * kSecondUs), cell("one", 100 * kSecondUs)}, 190 * kSecondUs);
  read({cell("two", 101 * kSecondUs)}, 190 * kSecondUs + 1);
  EXPECT_EQ(verdict(), Verdict::linearizable);
  families[1].can_undo = false;
  EXPECT_EQ(verdict(), Verdict::violation);
}

// Each rule keeps what the one below it keeps, whatever the cell: the model orders them so.
TEST(MixedRules, AGreaterNumberKeepsMore) {
  for (int64_t rule = 1; rule <= kMixedRules; ++rule) {
    for (int64_t age_s = 0; age_s <= 100; age_s += 5) {
      for (int versions = 1; versions <= 4; ++versions) {
        RowState::Columns tighter, looser;
        for (int i = 0; i < versions; ++i) tighter["e"][1'000 * kSecondUs - i] = {"v", kNoExpiry};
        looser = tighter;
        const int64_t now_us = (1'000 + age_s) * kSecondUs;
        collect_mixed(tighter, rule, now_us);
        collect_mixed(looser, (rule + 1) % (kMixedRules + 1), now_us);
        EXPECT_LE(tighter["e"].size(), looser["e"].size()) << rule << " " << age_s;
      }
    }
  }
}

TEST_F(RowCopiesTest, ARestoredTableHoldsWhatWasWrittenBeforeTheBackup) {
  write("one", 100 * kSecondUs, 101 * kSecondUs);
  back_up(1);
  write("two", 101 * kSecondUs, 102 * kSecondUs);
  restore(1, 1);
  read({cell("one", 100 * kSecondUs)}, 103 * kSecondUs, 1);
  read({cell("two", 101 * kSecondUs), cell("one", 100 * kSecondUs)}, 103 * kSecondUs);
  EXPECT_EQ(verdict(), Verdict::linearizable);
  ops[4].seen = {};
  EXPECT_EQ(verdict(), Verdict::violation) << "an acknowledged write is missing";
  ops[4].seen = {cell("two", 101 * kSecondUs), cell("one", 100 * kSecondUs)};
  EXPECT_EQ(verdict(), Verdict::violation) << "it began after the backup had ended";
}

// The backup ran meanwhile: with or without the write, and all tables restored from it alike.
TEST_F(RowCopiesTest, ABackupHasOneInstantOfARow) {
  RowOp& backup = back_up(1);
  write("one", 100 * kSecondUs, 101 * kSecondUs);
  ops.front().ret = ++tick;
  (void)backup;
  restore(1, 1);
  restore(1, 2);
  read({cell("one", 100 * kSecondUs)}, 103 * kSecondUs, 1);
  read({cell("one", 100 * kSecondUs)}, 103 * kSecondUs, 2);
  EXPECT_EQ(verdict(), Verdict::linearizable);
  ops[4].seen.clear(), ops[5].seen.clear();
  EXPECT_EQ(verdict(), Verdict::linearizable);
  ops[5].seen = {cell("one", 100 * kSecondUs)};
  EXPECT_EQ(verdict(), Verdict::violation);
}

TEST_F(RowCopiesTest, TheRulesOfABackupGoOn) {
  families[1].rule = 1;
  write("one", 100 * kSecondUs, 101 * kSecondUs);
  back_up(1);
  restore(1, 1);
  read({cell("one", 100 * kSecondUs)}, 140 * kSecondUs, 1);
  read({}, 140 * kSecondUs + 1, 1);
  EXPECT_EQ(verdict(), Verdict::linearizable);
  change(0, 141 * kSecondUs, 1);
  read({cell("one", 100 * kSecondUs)}, 142 * kSecondUs, 1);
  EXPECT_EQ(verdict(), Verdict::violation) << "dead is dead";
}

// The rows are copied first, the schema is read last.
TEST_F(RowCopiesTest, AChangeOfARuleMayComeBetweenTheRowAndTheSchemaOfABackup) {
  write("one", 100 * kSecondUs, 101 * kSecondUs);
  write("two", 101 * kSecondUs, 102 * kSecondUs);
  RowOp& backup = back_up(1);
  backup.sealed = false;
  change(1, 103 * kSecondUs);
  write("three", 102 * kSecondUs, 104 * kSecondUs);
  RowOp& seal = add(Verb::seal_backup);
  seal.backup = 1;
  restore(1, 1);
  ops[2].ret = seal.ret - 1;
  read({cell("two", 101 * kSecondUs)}, 105 * kSecondUs, 1);
  EXPECT_EQ(verdict(), Verdict::linearizable);
  ops.back().seen = {cell("two", 101 * kSecondUs), cell("one", 100 * kSecondUs)};
  ops[5].call = 5;
  EXPECT_EQ(verdict(), Verdict::linearizable) << "sealed before the change";
  ops[5].call = 12;
  ops[2].ret = 6;
  EXPECT_EQ(verdict(), Verdict::violation);
}

// Before it was restored, and after a crash took nothing of it back.
TEST_F(RowCopiesTest, ARestoredTableIsThereAsAWholeOrNot) {
  write("one", 100 * kSecondUs, 101 * kSecondUs);
  back_up(1);
  read({}, 102 * kSecondUs, 1).refused = Refused::absent;
  restore(1, 1);
  read({cell("one", 100 * kSecondUs)}, 103 * kSecondUs, 1);
  add(Verb::crash);
  read({cell("one", 100 * kSecondUs)}, 104 * kSecondUs, 1);
  EXPECT_EQ(verdict(), Verdict::linearizable);
  read({}, 105 * kSecondUs, 1).refused = Refused::absent;
  EXPECT_EQ(verdict(), Verdict::violation);
}

}  // namespace
}  // namespace cellar::simulation
