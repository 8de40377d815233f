// The judge of one column compared with the model of SEMANTICS 3, over random histories.
#include "engine/retention/column_judge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/model/key.h"
#include "engine/retention/alive_run.h"
#include "engine/retention/change_rule.h"
#include "io/base/random.h"
#include "tests/support/random_rules.h"
#include "tests/support/retention_model.h"
#include "tests/support/seeds.h"

namespace cellar::engine {
namespace {

using support::OwnedMutation;
using support::RetentionModel;

OwnedMutation set_cell(int64_t timestamp_us, std::string value, int64_t expire_at_us) {
  OwnedMutation op;
  op.family = "f";
  op.qualifier = "q";
  op.timestamp_us = timestamp_us;
  op.value = std::move(value);
  op.expire_at_us = expire_at_us;
  return op;
}

// One column: its commits go to the model and, in the order of a read, to the judge.
class ColumnHistory {
 public:
  ColumnHistory(uint64_t seed, bool with_deletes, bool with_expiries)
      : random_(seed), with_deletes_(with_deletes), with_expiries_(with_expiries) {
    family_.name = "f";
    if (!random_.one_in(8)) family_.rule = support::random_rule(random_, 1);
    family_.undo_window_us = random_.one_in(2) ? 0 : 40;
    model_.create_family("f", family_.rule, family_.undo_window_us);
  }

  void step() {
    stamp_ += 1 + (random_.one_in(3) ? random_.below(30'000) : random_.below(1500));
    const uint64_t dice = random_.below(20);
    if (dice == 0) {
      // Often at the instant at which something dies of age.
      if (random_.one_in(2)) stamp_ += 1000 - stamp_ % 1000;
      return change_rule();
    }
    if (dice < 4 && with_deletes_) return remove();
    set();
  }

  // Compares answers as of a moment at or after the last commit.
  void check(bool exact) {
    const int64_t now_us =
        static_cast<int64_t>(stamp_ / 1000) + static_cast<int64_t>(random_.below(10));
    std::sort(cells_.begin(), cells_.end(), [](const auto& a, const auto& b) {
      return a.timestamp_us != b.timestamp_us ? a.timestamp_us > b.timestamp_us : a.born > b.born;
    });
    const FamilyRetention retention(family_);
    std::string got;
    if (retention.counts()) {
      const DeleteSweep::Whole whole{&range_deletes_, &row_deletes_, &family_deletes_};
      judge_.begin(retention, now_us, exact, whole, column_deletes_);
      for (const ColumnJudge::Cell& cell : cells_) {
        const bool was_full = judge_.is_full();
        const CellState fate = judge_.judge(cell, deleted_after(cell));
        if (fate != CellState::visible) continue;
        ASSERT_FALSE(was_full);
        got += fmt::format("{} ", cell.timestamp_us);
      }
      if (!exact) ASSERT_EQ(judge_with_run(retention, now_us), got);
    } else {
      int64_t last_us = -1;
      for (const ColumnJudge::Cell& cell : cells_) {
        const bool overwritten = cell.timestamp_us == last_us;
        last_us = cell.timestamp_us;
        if (overwritten || deleted_after(cell)) continue;
        const bool dead = cell.expire_at_us != kNoExpiry
                              ? now_us > cell.expire_at_us
                              : retention.dead_by_age(cell.timestamp_us, cell.born, now_us);
        if (!dead) got += fmt::format("{} ", cell.timestamp_us);
      }
    }
    std::string expected;
    for (const auto& cell : model_.read(now_us)) expected += fmt::format("{} ", cell.timestamp_us);
    ASSERT_EQ(got, expected) << "now " << now_us << " rule " << describe_rule(family_.rule)
                             << ", past rules " << family_.history.size();
  }

 private:
  // As in a read: AliveRun first, then the judge where AliveRun gives no answer.
  std::string judge_with_run(const FamilyRetention& retention, int64_t now_us) {
    AliveRun run;
    run.begin_family(retention, now_us, true);
    std::string got;
    bool judging = false;
    int64_t last_us = -1;
    for (const ColumnJudge::Cell& cell : cells_) {
      const bool deleted = deleted_after(cell);
      const bool same = std::exchange(last_us, cell.timestamp_us) == cell.timestamp_us;
      bool visible = !same && !deleted && run.take(cell.timestamp_us, cell.born, cell.expire_at_us);
      if (!visible && (judging || !run.is_full())) {
        if (!std::exchange(judging, true)) {
          judge_.begin(retention, now_us, false, {&range_deletes_, &row_deletes_, &family_deletes_},
                       column_deletes_);
          for (const ColumnJudge::Cell& taken : run.close()) judge_.judge(taken, false);
        }
        visible = judge_.judge(cell, deleted) == CellState::visible;
      }
      if (visible) got += fmt::format("{} ", cell.timestamp_us);
    }
    return got;
  }

  int64_t now_us() const { return static_cast<int64_t>(stamp_ / 1000); }

  void set() {
    std::vector<OwnedMutation> ops;
    std::set<int64_t> taken;
    for (uint64_t n = 1 + random_.below(random_.one_in(4) ? 4 : 1); n > 0; --n) {
      const int64_t timestamp_us =
          random_.one_in(3)
              ? static_cast<int64_t>(random_.below(12))
              : std::max<int64_t>(0, now_us() - static_cast<int64_t>(random_.below(20)));
      if (!taken.insert(timestamp_us).second) continue;
      const int64_t expire_at_us =
          with_expiries_ && random_.one_in(3)
              ? std::max<int64_t>(0, now_us() - 3 + static_cast<int64_t>(random_.below(40)))
              : kNoExpiry;
      ops.push_back(set_cell(timestamp_us, "v", expire_at_us));
      cells_.push_back({timestamp_us, CommitStamp{stamp_}, expire_at_us});
    }
    model_.mutate(CommitStamp{stamp_}, "r", std::move(ops));
  }

  void remove() {
    const CommitStamp stamp{stamp_};
    OwnedMutation op;
    op.family = "f";
    op.qualifier = "q";
    const uint64_t dice = random_.below(4);
    if (dice == 0) {
      op.kind = Mutation::Kind::delete_from_row;
      row_deletes_.insert(row_deletes_.begin(), stamp);
    } else if (dice == 1) {
      op.kind = Mutation::Kind::delete_from_family;
      family_deletes_.insert(family_deletes_.begin(), stamp);
    } else {
      op.kind = Mutation::Kind::delete_from_column;
      if (dice == 2) {
        op.start_us = static_cast<int64_t>(random_.below(static_cast<uint64_t>(now_us()) + 2));
        op.end_us = op.start_us + 1 + static_cast<int64_t>(random_.below(10));
      }
      column_deletes_.push_back({op.start_us, op.end_us, stamp});
    }
    model_.mutate(stamp, "r", {op});
  }

  void change_rule() {
    const RetentionRule rule =
        random_.one_in(6) ? RetentionRule{} : support::random_rule(random_, 1);
    const bool refused = model_.refuses("f", rule, now_us());
    RuleChange change;
    change.rule = rule;
    change.stamp = CommitStamp{stamp_};
    change.now_us = now_us();
    const auto changed = engine::change_rule(family_, change);
    ASSERT_EQ(!changed.has_value(), refused);
    if (refused) return;
    family_ = *changed;
    model_.change_rule(CommitStamp{stamp_}, now_us(), "f", rule);
  }

  bool deleted_after(const ColumnJudge::Cell& cell) const {
    const auto later = [&cell](CommitStamp stamp) { return stamp > cell.born; };
    return std::any_of(row_deletes_.begin(), row_deletes_.end(), later) ||
           std::any_of(family_deletes_.begin(), family_deletes_.end(), later) ||
           std::any_of(
               column_deletes_.begin(), column_deletes_.end(),
               [&cell](const DeleteSweep::Range& range) {
                 return range.stamp > cell.born && range.start_us <= cell.timestamp_us &&
                        (cell.timestamp_us < range.end_us || range.end_us == kMaxTimestampUs);
               });
  }

  Random random_;
  const bool with_deletes_;
  const bool with_expiries_;
  uint64_t stamp_ = 30'000;
  FamilySchema family_;
  RetentionModel model_;
  std::vector<ColumnJudge::Cell> cells_;
  DeleteSweep::Stamps range_deletes_;
  DeleteSweep::Stamps row_deletes_;
  DeleteSweep::Stamps family_deletes_;
  std::vector<DeleteSweep::Range> column_deletes_;
  ColumnJudge judge_;
};

class ColumnAgainstModel : public testing::TestWithParam<int> {};

TEST_P(ColumnAgainstModel, AgreesAtEveryMoment) {
  for (const uint64_t seed : test_seeds(1500)) {
    ColumnHistory history(seed * 4 + static_cast<uint64_t>(GetParam()), (GetParam() & 1) != 0,
                          (GetParam() & 2) != 0);
    for (int i = 0; i < 25; ++i) {
      history.step();
      history.check(i % 2 == 0);
      if (HasFatalFailure()) {
        ADD_FAILURE() << "seed " << seed << " step " << i;
        return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DeletesAndExpiries, ColumnAgainstModel, testing::Range(0, 4));

// The cost of a replay of that many versions, in visited nodes of the timeline.
uint64_t replay_steps(uint64_t versions, const RetentionRule& rule) {
  FamilySchema family;
  family.rule = rule;
  const FamilyRetention retention(family);
  Random random(1);
  const DeleteSweep::Stamps none;
  std::vector<DeleteSweep::Range> ranges;
  for (uint64_t i = 0; i < versions / 2; ++i) {
    const auto start = static_cast<int64_t>(random.below(versions));
    ranges.push_back({start, start + 50, CommitStamp{random.below(versions) * 1000}});
  }
  ColumnJudge judge;
  judge.begin(retention, static_cast<int64_t>(versions), true, {&none, &none, &none}, ranges);
  for (uint64_t i = versions; i > 0; --i) {
    const int64_t expire_at_us =
        i % 3 == 0 ? static_cast<int64_t>(i + random.below(versions)) : kNoExpiry;
    judge.judge(
        {static_cast<int64_t>(i), CommitStamp{random.below(versions) * 1000 + 1}, expire_at_us},
        false);
  }
  return judge.steps();
}

TEST(ColumnJudge, AReplayOfManyVersionsWithDeletesAndExpiriesIsNotQuadratic) {
  const auto versions = [](int64_t n) { return RetentionRule::max_versions(n); };
  const auto age = [](int64_t us) { return RetentionRule::max_age_us(us); };
  const RetentionRule rules[] = {
      versions(5000),
      RetentionRule::union_of({versions(5000), age(1'000'000)}),
      RetentionRule::intersection_of({versions(100), age(2000)}),
      RetentionRule::union_of(
          {versions(20'000), RetentionRule::intersection_of({versions(300), age(5000)})}),
  };
  for (const RetentionRule& rule : rules) {
    const auto small = static_cast<double>(replay_steps(10'000, rule));
    const auto large = static_cast<double>(replay_steps(80'000, rule));
    // Linear cost would give 8, the logarithm adds up to about 10, quadratic cost would give 64.
    EXPECT_LT(large, 14 * small) << describe_rule(rule);
    EXPECT_LT(large, 80'000 * 200.0) << describe_rule(rule);
  }
}

// A rule whose threshold changes at very many ages, few of which matter to a column.
TEST(ColumnJudge, AgesAtWhichMoreVersionsWouldHaveToLiveThanThereAreCostNothing) {
  const auto steps = [](int64_t parts) {
    std::vector<RetentionRule> all;
    for (int64_t i = 1; i <= parts; ++i) {
      all.push_back(RetentionRule::intersection_of(
          {RetentionRule::max_age_us(1000 * i), RetentionRule::max_versions(200'000 - i)}));
    }
    return replay_steps(5000, RetentionRule::union_of(all));
  };
  const uint64_t few = steps(10);
  EXPECT_LT(steps(1300), 2 * few);
}

// ---- rules as steps

// The verdict of the rule tree on a cell, evaluated directly.
bool due(const RetentionRule& rule, size_t& next, int64_t age_us, uint64_t rank) {
  const RuleNode& node = rule.nodes[next++];
  if (node.kind == RuleNode::Kind::max_age) return age_us > node.value;
  if (node.kind == RuleNode::Kind::max_versions) return rank >= static_cast<uint64_t>(node.value);
  const bool any = node.kind == RuleNode::Kind::union_of;
  bool result = !any;
  for (uint32_t i = 0; i < node.children; ++i) {
    const bool part = due(rule, next, age_us, rank);
    result = any ? result || part : result && part;
  }
  return result;
}

TEST(StepRule, SaysOfEveryAgeAndRankWhatTheTreeSays) {
  for (const uint64_t seed : test_seeds(500)) {
    Random random(seed);
    const RetentionRule rule = support::random_rule(random, 1000);
    const StepRule steps(rule);
    uint64_t before = steps.young_rank();
    for (const StepRule::Step& step : steps.steps()) {
      EXPECT_LT(step.rank, before);
      before = step.rank;
    }
    for (int64_t age_us = 0; age_us <= 21'000; age_us += 500) {
      for (const int64_t near_us : {age_us, age_us + 1}) {
        for (uint64_t rank = 0; rank < 6; ++rank) {
          size_t next = 0;
          ASSERT_EQ(rank >= steps.rank_at(near_us), due(rule, next, near_us, rank))
              << "seed " << seed << ": " << describe_rule(rule) << " at " << near_us << ", rank "
              << rank;
        }
      }
    }
  }
}

// The widest allowed rule: an age and a count in each of its parts.
TEST(StepRule, ARuleOfTheMostNodesIsCompiledInOneSweep) {
  std::vector<RetentionRule> parts;
  while (3 * parts.size() + 4 <= kMaxRuleNodes) {
    const auto i = static_cast<int64_t>(parts.size()) + 1;
    parts.push_back(RetentionRule::intersection_of(
        {RetentionRule::max_age_us(1000 * i), RetentionRule::max_versions(10'000 - i)}));
  }
  const RetentionRule rule = RetentionRule::union_of(parts);
  ASSERT_TRUE(validate_rule(rule));
  const StepRule steps(rule);
  ASSERT_EQ(steps.steps().size(), parts.size());
  EXPECT_EQ(steps.rank_at(1000), kNoRank);
  EXPECT_EQ(steps.rank_at(1001), 9999u);
  EXPECT_EQ(steps.rank_at(2000), 9999u);
  EXPECT_EQ(steps.rank_at(2001), 9998u);
  EXPECT_EQ(steps.rank_at(INT64_MAX), 10'000 - parts.size());
}

}  // namespace
}  // namespace cellar::engine
