// Conditional writes: each is atomic among the writes to its row, whether the row is cached or on
// disk, and its answer is durable.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/filter/compiled_filter.h"
#include "io/base/random.h"
#include "tests/support/seeds.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

std::string counter(int64_t value) {
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i)
    bytes[7 - i] = static_cast<char>(static_cast<uint64_t>(value) >> 8 * i);
  return bytes;
}
int64_t number(const std::string& bytes) {
  uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<uint8_t>(c);
  return static_cast<int64_t>(value);
}

using Pending = PendingConditional;

struct Rule {
  std::string qualifier;
  std::optional<std::string> append;
  int64_t by = 0;
};

class Conditional : public ::testing::Test {
 protected:
  explicit Conditional(TestNodeOptions options = {}) : node_(std::move(options)) {}

  std::unique_ptr<Pending> begin(std::unique_ptr<Pending> pending, std::string row) {
    node_.begin(*pending, "t", std::move(row));
    return pending;
  }
  std::unique_ptr<Pending> begin_check(std::string row, std::vector<OwnedMutation> then_ops,
                                       std::vector<OwnedMutation> else_ops) {
    auto pending = std::make_unique<Pending>();
    pending->then_ops = std::move(then_ops);
    pending->else_ops = std::move(else_ops);
    return begin(std::move(pending), std::move(row));
  }
  std::unique_ptr<Pending> begin_modify(std::string row, const std::vector<Rule>& rules,
                                        const std::string& family = "f") {
    auto pending = std::make_unique<Pending>();
    pending->words.reserve(3 * rules.size());
    for (const Rule& rule : rules) {
      ModifyRule& made = pending->rules.emplace_back();
      made.kind = rule.append ? ModifyRule::Kind::append : ModifyRule::Kind::increment;
      made.family = pending->words.emplace_back(family);
      made.qualifier = pending->words.emplace_back(rule.qualifier);
      made.value = pending->words.emplace_back(rule.append.value_or(""));
      made.by = rule.by;
    }
    return begin(std::move(pending), std::move(row));
  }
  void wait(const Pending& pending) {
    const bool done = node_.world().run_until([&] { return pending.finished; });
    ASSERT_TRUE(done) << "the world went idle";
  }
  // "OK" and the cells, or the status.
  std::string modify(const std::string& row, const std::vector<Rule>& rules,
                     const std::string& family = "f") {
    const auto pending = begin_modify(row, rules, family);
    wait(*pending);
    if (pending->write.error) return std::string(errc_name(pending->write.error->code));
    std::string text = "OK";
    for (const Mutation& cell : pending->write.new_cells) {
      text += fmt::format(" {}@{}={}", cell.qualifier, cell.timestamp_us,
                          cell.value.size() == 8 ? std::to_string(number(std::string(cell.value)))
                                                 : std::string(cell.value));
    }
    return text;
  }
  std::string check(const std::string& row, std::vector<OwnedMutation> then_ops,
                    std::vector<OwnedMutation> else_ops) {
    const auto pending = begin_check(row, std::move(then_ops), std::move(else_ops));
    wait(*pending);
    if (pending->write.error) return std::string(errc_name(pending->write.error->code));
    return pending->write.matched ? "then" : "else";
  }
  // The newest value of f:c; empty if the row has none.
  std::optional<std::string> value(const std::string& row) {
    const auto cells = node_.read_row("t", row);
    EXPECT_TRUE(cells) << cells.error().message;
    if (!cells || cells->empty()) return std::nullopt;
    return cells->front().value;
  }
  // Everything on disk, nothing in the cache.
  void cold() {
    ASSERT_TRUE(node_.flush("t"));
    ASSERT_TRUE(node_.close());
    ASSERT_TRUE(node_.reopen());
  }

  TestNode node_;
};

// A time far ahead of the node's clock, so that answers do not depend on it.
constexpr int64_t kAhead = 4'000'000'000'000'000;

TEST_F(Conditional, ModifyAppliesItsRulesInOrderAndAnswersByColumn) {
  ASSERT_TRUE(node_.create_table("t", {"f"}));
  for (const char* q : {"a", "b", "n", "s"}) {
    const bool text = std::string(q) == "s";
    ASSERT_TRUE(node_.set("t", "r", std::string("f:") + q, kAhead, text ? "x" : counter(5)));
  }
  EXPECT_EQ(modify("r", {{"s", "yz"}, {"n", {}, 3}, {"n", {}, -10}, {"s", "!"}}),
            fmt::format("OK n@{}=-2 s@{}=xyz!", kAhead, kAhead));
  EXPECT_EQ(modify("r", {{"n", {}, 1}}), fmt::format("OK n@{}=-1", kAhead));
  EXPECT_EQ(node_.read_row("t", "r")->size(), 4u) << "the cell ahead was replaced";
  EXPECT_EQ(modify("r", {{"s", {}, 1}}), "FAILED_PRECONDITION");
  EXPECT_EQ(modify("r", {{"s", "12345678"}, {"s", {}, 1}}), "FAILED_PRECONDITION");
  EXPECT_EQ(modify("r", {{"a", {}, INT64_MAX}}), "OUT_OF_RANGE");
  EXPECT_EQ(modify("r", {{"a", {}, INT64_MAX - 5}}), fmt::format("OK a@{}={}", kAhead, INT64_MAX));
  EXPECT_EQ(modify("r", {{"b", {}, INT64_MIN}, {"b", {}, -5}, {"b", {}, -1}}), "OUT_OF_RANGE");
  EXPECT_EQ(modify("r", {{"b", {}, INT64_MIN}, {"b", {}, -5}}),
            fmt::format("OK b@{}={}", kAhead, INT64_MIN));
  EXPECT_EQ(modify("r", {{"b", {}, 1}, {"a", {}, 1}}), "OUT_OF_RANGE");
  EXPECT_EQ(modify("r", {{"b", {}, 0}}), fmt::format("OK b@{}={}", kAhead, INT64_MIN))
      << "a refused one changed nothing";
}

// A request of some bytes must not collect a row of many gigabytes.
class LimitedConditional : public Conditional {
 protected:
  static TestNodeOptions limited() {
    TestNodeOptions options;
    options.engine.limits.row_bytes = 1000;
    return options;
  }
  LimitedConditional() : Conditional(limited()) {}
};

TEST_F(LimitedConditional, ModifyReadsNoMoreThanAMutationMayWrite) {
  ASSERT_TRUE(node_.create_table("t", {"f"}));
  std::vector<Rule> some, all;
  for (int i = 0; i < 10; ++i) {
    const std::string q = std::to_string(i);
    ASSERT_TRUE(node_.set("t", "r", "f:" + q, kAhead, std::string(200, 'v')));
    all.push_back({q, ""});
    if (i < 3) some.push_back({q, ""});
  }
  EXPECT_EQ(modify("r", all), "INVALID_ARGUMENT");
  EXPECT_EQ(modify("r", some).substr(0, 3), "OK ");
}

TEST_F(Conditional, AnEmptyValueThatARuleMadeIsAValueForTheNext) {
  ASSERT_TRUE(node_.create_table("t", {"f"}));
  EXPECT_EQ(modify("r", {{"n", ""}, {"n", {}, 1}}), "FAILED_PRECONDITION");
  EXPECT_EQ(node_.cells("t").size(), 0u);
  EXPECT_EQ(modify("r", {{"n", {}, 0}, {"n", {}, 7}, {"n", ""}, {"n", {}, 1}}).substr(0, 4),
            "OK n");
  EXPECT_EQ(value("r"), counter(8));
}

TEST_F(Conditional, RulesAreJudgedInTheOrderOfTheRequest) {
  ASSERT_TRUE(node_.create_table("t", {"f"}));
  ASSERT_TRUE(node_.set("t", "r", "f:a", kAhead, "abc"));
  ASSERT_TRUE(node_.set("t", "r", "f:z", kAhead, counter(INT64_MAX)));
  EXPECT_EQ(modify("r", {{"z", {}, 1}, {"a", {}, 1}}), "OUT_OF_RANGE");
  EXPECT_EQ(modify("r", {{"a", {}, 1}, {"z", {}, 1}}), "FAILED_PRECONDITION");
  EXPECT_EQ(modify("r", {{"z", {}, -1}, {"a", "d"}, {"z", {}, 1}, {"a", "e"}}),
            fmt::format("OK a@{}=abcde z@{}={}", kAhead, kAhead, INT64_MAX))
      << "answered in column order";
}

TEST_F(Conditional, FormThenExistenceThenTheRest) {
  ASSERT_TRUE(node_.create_table("t", {"f"}));
  EXPECT_EQ(modify("", {{"q", {}, 1}}), "INVALID_ARGUMENT");
  EXPECT_EQ(modify(std::string(4097, 'k'), {{"q", {}, 1}}), "INVALID_ARGUMENT");
  EXPECT_EQ(modify("r", {{std::string(16385, 'q'), {}, 1}}), "INVALID_ARGUMENT");
  EXPECT_EQ(modify("r", {{"q", {}, 1}}, "none"), "NOT_FOUND");
  EXPECT_EQ(check("r", {}, {}), "INVALID_ARGUMENT");
  EXPECT_EQ(check("r", {set_cell("none:q", 1, "v")}, {set_cell("f:q", -1, "v")}),
            "INVALID_ARGUMENT");
  EXPECT_EQ(check("r", {set_cell("none:q", 1, "v")}, {}), "NOT_FOUND") << "though not taken";
  EXPECT_EQ(check("r", {set_cell("f:q", 1, "v")}, {}), "else");
  EXPECT_EQ(value("r"), std::nullopt);
}

TEST_F(Conditional, OnlyTheListThatIsTakenIsHeldAgainstTheGuards) {
  engine::TableSpec spec;
  spec.name = "t";
  spec.granularity = Granularity::micros;
  spec.families.push_back({"f"});
  spec.families[0].window = WriteWindow{0, 1'000'000'000, WriteWindow::Unit::exact};
  spec.families.push_back({"s"});
  spec.families[1].timestamps = TimestampMeaning::sequence;
  ASSERT_TRUE(node_.create_table(std::move(spec)));
  EXPECT_EQ(check("r", {set_cell("f:q", 1, "v")}, {set_cell("s:q", 1, "v")}), "else");
  EXPECT_EQ(check("r", {set_cell("f:q", 1, "v")}, {set_cell("s:q", 2, "v")}), "OUT_OF_RANGE");
  EXPECT_EQ(check("r", {delete_row()}, {set_cell("s:q", kServerStamped, "v")}), "INVALID_ARGUMENT");
  EXPECT_EQ(modify("r", {{"q", "v"}}, "s"), "INVALID_ARGUMENT");
  EXPECT_EQ(node_.cells("t").size(), 1u);
}

TEST_F(Conditional, AColdRowIsOneStepBetweenTheWritesThatComeMeanwhile) {
  ASSERT_TRUE(node_.create_table("t", {"f"}));
  for (const char* row : {"a", "b", "c"}) {
    ASSERT_TRUE(node_.set("t", row, "f:c", kServerStamped, counter(1)));
  }
  cold();
  // All are submitted before the first block has come.
  const auto first = begin_modify("b", {{"c", {}, 10}});
  EXPECT_FALSE(first->finished);
  const auto set_b = node_.begin_write("t", "b", {set_cell("f:c", kServerStamped, counter(100))});
  const auto set_c = node_.begin_write("t", "c", {set_cell("f:c", kServerStamped, counter(7))});
  const auto second = begin_modify("b", {{"c", {}, 5}});
  const auto drop = node_.begin_drop_rows(node_.table("t")->tablets[0], "b", "d");
  const auto after = node_.begin_write("t", "c", {set_cell("f:c", kServerStamped, counter(8))});
  const auto third = begin_modify("c", {{"c", {}, 1}});
  const auto exists = begin_check("b", {set_cell("f:c", kServerStamped, "x")},
                                  {set_cell("f:c", kServerStamped, counter(50))});
  const auto fourth = begin_modify("b", {{"c", {}, 1}});
  node_.wait(*set_c);
  EXPECT_FALSE(set_b->finished) << "waits for the row, the other did not";
  for (const auto* one : {&first, &second, &third, &exists, &fourth}) {
    wait(**one);
    ASSERT_FALSE((*one)->write.error) << (*one)->write.error->message;
  }
  EXPECT_EQ(number(std::string(first->write.new_cells[0].value)), 11);
  EXPECT_EQ(number(std::string(second->write.new_cells[0].value)), 105);
  EXPECT_EQ(number(std::string(third->write.new_cells[0].value)), 9);
  EXPECT_FALSE(exists->write.matched) << "dropped before";
  EXPECT_EQ(number(std::string(fourth->write.new_cells[0].value)), 51);
  EXPECT_EQ(value("a"), counter(1));
  EXPECT_EQ(value("c"), counter(9));
  EXPECT_TRUE(after->finished && drop->finished && set_b->finished);
}

// ---- a row longer than the cache, so that every read of it waits for the disk

class LongRow : public Conditional {
 protected:
  static TestNodeOptions options() {
    TestNodeOptions o;
    o.engine.memory_bytes = 2u << 20;
    o.engine.table_bytes = 16u << 20;
    o.min_latency_us = o.max_latency_us = 10'000;
    return o;
  }
  LongRow() : Conditional(options()) {
    FilterSpec spec;
    FilterNode node;
    node.kind = FilterKind::value_regex;
    node.text = "magic";
    spec.nodes.push_back(node);
    magic_ = *engine::plan_filter(spec);
  }

  int64_t now_us() { return node_.world().clock().wall_us(); }
  void fill() {
    ASSERT_TRUE(node_.create_table("t", {"f"}));
    Random random(7);
    std::string noise(10'000, 'n');
    for (int i = 0; i < 300; ++i) {
      for (char& c : noise) c = static_cast<char>(random.below(256));
      const std::string column = fmt::format("f:q{:03}", i);
      ASSERT_TRUE(node_.set("t", "r", column, 1, noise));
      if (i % 50 == 49) ASSERT_TRUE(node_.flush("t"));
    }
  }
  // "magic" is the row's last cell.
  void set_magic(int64_t expire_at_us) {
    std::vector<OwnedMutation> ops = {set_cell("f:z", 1, "magic")};
    ops[0].expire_at_us = expire_at_us;
    ASSERT_TRUE(node_.write("t", "r", ops));
    ASSERT_TRUE(node_.flush("t"));
  }
  std::unique_ptr<Pending> check_for_magic() {
    auto pending = std::make_unique<Pending>();
    pending->then_ops = {set_cell("f:y", 1, "then")};
    pending->else_ops = {set_cell("f:y", 1, "else")};
    pending->write.filter = &magic_;
    auto begun = begin(std::move(pending), "r");
    wait(*begun);
    return begun;
  }

  engine::FilterPlan magic_;
};

TEST_F(LongRow, AConditionNeverRestsOnACellThatIsDeadAtTheCommit) {
  fill();
  set_magic(now_us() + 3'600'000'000);
  const int64_t began_us = now_us();
  const auto alive = check_for_magic();
  ASSERT_FALSE(alive->write.error) << alive->write.error->message;
  EXPECT_TRUE(alive->write.matched) << "nothing has died, so the reading counts";
  const int64_t takes_us = now_us() - began_us;
  ASSERT_GT(takes_us, 400'000) << "its blocks were in memory";
  int aborted = 0;
  for (int eighth = 1; eighth <= 9; ++eighth) {
    const int64_t expires_us = now_us() + takes_us * eighth / 8 + 20'000;
    set_magic(expires_us);
    const int64_t left_us = expires_us - now_us();
    const auto checked = check_for_magic();
    const engine::ConditionalWrite& write = checked->write;
    if (write.error) {
      EXPECT_EQ(write.error->code, Errc::aborted) << write.error->message;
      EXPECT_EQ(write.error->applied, Applied::not_applied);
      EXPECT_TRUE(write.error->retryable());
      ++aborted;
      continue;
    }
    const auto stamp_us = static_cast<int64_t>(write.commit.stamp.value() / 1000);
    EXPECT_EQ(write.matched, stamp_us <= expires_us)
        << eighth << ": " << left_us << " us were left, the commit is " << stamp_us - expires_us
        << " us behind the expiry";
  }
  EXPECT_GT(aborted, 0) << "no reading met the moment of the death";
}

// ---- at random, against a model of each row's values

struct Op {
  std::vector<std::string> rows;
  std::unique_ptr<Pending> conditional;
  std::unique_ptr<PendingWrite> plain;
  bool finished() const { return conditional ? conditional->finished : plain->finished; }
  bool failed() const {
    return conditional ? conditional->write.error.has_value() : plain->write.error.has_value();
  }
};

class RandomConditional : public Conditional, public ::testing::WithParamInterface<uint64_t> {
 protected:
  RandomConditional() : Conditional(options(GetParam())) {}
  using State = std::optional<int64_t>;
  struct History {
    std::vector<State> states{std::nullopt};
    size_t acked = 0;  // earlier states cannot come back
  };

  static TestNodeOptions options(uint64_t seed) {
    TestNodeOptions o;
    o.seed = seed;
    o.max_latency_us = 300;
    return o;
  }

  State now(const std::string& row) const { return rows_.at(row).states.back(); }
  void becomes(const std::string& row, State state) { rows_.at(row).states.push_back(state); }

  void submit(Random& random) {
    const std::string row(1, static_cast<char>('a' + random.below(kRows)));
    Op op;
    op.rows = {row};
    const auto amount = static_cast<int64_t>(random.below(1000));
    switch (random.below(10)) {
      case 0:
        op.plain = node_.begin_write("t", row, {delete_row()});
        becomes(row, std::nullopt);
        break;
      case 1: {
        const std::string end(1, static_cast<char>(row[0] + 1 + random.below(3)));
        op.plain = node_.begin_drop_rows(node_.table("t")->tablets[0], row, end);
        for (char c = row[0]; c < end[0] && c < 'a' + kRows; ++c) {
          if (c != row[0]) op.rows.emplace_back(1, c);
          becomes(std::string(1, c), std::nullopt);
        }
        break;
      }
      case 2:
      case 3:
        op.plain = node_.begin_write("t", row, {set_cell("f:c", kServerStamped, counter(amount))});
        becomes(row, amount);
        break;
      case 4:
      case 5: {
        const bool exists = now(row).has_value();
        op.conditional = begin_check(row, {set_cell("f:c", kServerStamped, counter(amount))},
                                     {set_cell("f:c", kServerStamped, counter(-amount))});
        expected_.emplace_back(op.conditional.get(), exists ? 1 : 0);
        becomes(row, exists ? amount : -amount);
        break;
      }
      default:
        op.conditional = begin_modify(row, {{"c", {}, amount}});
        becomes(row, now(row).value_or(0) + amount);
        expected_.emplace_back(op.conditional.get(), *now(row));
        break;
    }
    for (const auto& touched : op.rows) index_.push_back(rows_.at(touched).states.size() - 1);
    ops_.push_back(std::move(op));
  }

  // Every answer was right when given, and its state is the row's from then on.
  void take_answers() {
    size_t at = 0;
    for (const Op& op : ops_) {
      for (const auto& row : op.rows) {
        const size_t index = index_[at++];
        if (op.finished() && !op.failed()) {
          rows_.at(row).acked = std::max(rows_.at(row).acked, index);
        }
      }
    }
    for (const auto& [pending, want] : expected_) {
      if (!pending->finished || pending->write.error) continue;
      const int64_t got = pending->rules.empty()
                              ? pending->write.matched
                              : number(std::string(pending->write.new_cells[0].value));
      ASSERT_EQ(got, want) << "row " << pending->row << " seed " << node_.seed();
    }
  }

  void wait_for_all() {
    ASSERT_TRUE(node_.world().run_until([&] {
      for (const Op& op : ops_) {
        if (!op.finished()) return false;
      }
      return true;
    }));
    for (const Op& op : ops_) ASSERT_FALSE(op.failed());
  }

  // The rows have one of their possible states, from which they continue.
  void settle() {
    for (auto& [row, history] : rows_) {
      const auto bytes = value(row);
      const State found = bytes ? State(number(*bytes)) : std::nullopt;
      const auto begin = history.states.begin() + static_cast<std::ptrdiff_t>(history.acked);
      ASSERT_NE(std::find(begin, history.states.end(), found), history.states.end())
          << "row " << row << " holds " << found.value_or(-1) << ", seed " << node_.seed();
      history = {{found}, 0};
    }
    ops_.clear();
    index_.clear();
    expected_.clear();
  }

  static constexpr int kRows = 8;
  std::map<std::string, History> rows_;
  std::vector<Op> ops_;
  std::vector<size_t> index_;  // the state that it makes, for each row of each operation
  std::vector<std::pair<Pending*, int64_t>> expected_;
};

TEST_P(RandomConditional, EachIsOneStepWhateverIsOnDiskAndWhateverCrashes) {
  Random random(GetParam());
  ASSERT_TRUE(node_.create_table("t", {"f"}));
  for (int i = 0; i < kRows; ++i) rows_[std::string(1, static_cast<char>('a' + i))];
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(fmt::format("seed {} round {}", GetParam(), round));
    for (uint64_t i = random.below(12) + 1; i > 0; --i) submit(random);
    const uint64_t what = random.below(6);
    if (what == 0) {
      // The power fails at any point of the writes.
      for (uint64_t turns = random.below(40); turns > 0; --turns) {
        (void)node_.world().run_until([n = 0]() mutable { return ++n > 1; });
      }
      take_answers();
      node_.crash(CrashPolicy::random_subset);
      ASSERT_TRUE(node_.reopen());
    } else {
      wait_for_all();
      take_answers();
      if (what == 1) ASSERT_TRUE(node_.flush("t"));
      if (what == 2) ASSERT_TRUE(node_.compact("t"));
      if (what == 3) cold();
    }
    if (HasFatalFailure()) return;
    settle();
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomConditional, ::testing::ValuesIn(test_seeds(4)));

}  // namespace
}  // namespace cellar::support
