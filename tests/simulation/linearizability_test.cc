#include "tests/support/linearizability.h"

#include <gtest/gtest.h>

#include <map>

#include "io/base/random.h"

namespace cellar::support {
namespace {

using Verdict = Linearization::Verdict;

// A register with writes, reads and compare-and-set.
struct Register {
  enum class Kind : uint8_t { read, write, swap };
  struct Op {
    uint64_t call, ret;
    Kind kind;
    int value;  // read, written, or put in the place of `expected`
    int expected = 0;
    bool swapped = true;
    uint64_t rank = 0;
    uint64_t gone = kNoReturn;
  };
  using State = int;

  std::vector<int> step(int state, const Op& op) const {
    if (op.kind == Kind::read) return state == op.value ? std::vector{state} : std::vector<int>();
    if (op.kind == Kind::write) return {op.value};
    const bool equal = state == op.expected;
    if (op.ret != kNoReturn && equal != op.swapped) return {};
    return {equal ? op.value : state};
  }
  std::string key(int state) const { return std::to_string(state); }
  bool passive(int before, const Op& /*op*/, int after) const { return before == after; }

  uint64_t rank(const Op& op) const { return op.rank; }
  uint64_t gone(const Op& op) const { return op.gone; }

  static Op read(uint64_t call, uint64_t ret, int value) { return {call, ret, Kind::read, value}; }
  static Op write(uint64_t call, uint64_t ret, int value) {
    return {call, ret, Kind::write, value};
  }
  static Op swap(uint64_t call, uint64_t ret, int from, int to, bool swapped) {
    return {call, ret, Kind::swap, to, from, swapped};
  }
};

Verdict verdict_of(const std::vector<Register::Op>& ops) {
  const Register model;
  return LinearizabilityChecker<Register>(model).check(ops, 0).verdict;
}

TEST(Linearizability, AnEmptyHistoryAndSequentialOnes) {
  EXPECT_EQ(verdict_of({}), Verdict::linearizable);
  EXPECT_EQ(verdict_of({Register::write(1, 2, 7), Register::read(3, 4, 7)}), Verdict::linearizable);
  EXPECT_EQ(verdict_of({Register::write(1, 2, 7), Register::read(3, 4, 0)}), Verdict::violation);
  EXPECT_EQ(verdict_of({Register::read(1, 2, 7)}), Verdict::violation);
}

TEST(Linearizability, OverlappingOperationsTakeEffectInEitherOrder) {
  EXPECT_EQ(verdict_of({Register::write(1, 4, 7), Register::read(2, 3, 0)}), Verdict::linearizable);
  EXPECT_EQ(verdict_of({Register::write(1, 4, 7), Register::read(2, 3, 7)}), Verdict::linearizable);
  // Both orders of two writes, but the readers agree on one.
  const auto a = Register::write(1, 6, 1);
  const auto b = Register::write(2, 7, 2);
  EXPECT_EQ(verdict_of({a, b, Register::read(8, 9, 1), Register::read(10, 11, 1)}),
            Verdict::linearizable);
  EXPECT_EQ(verdict_of({a, b, Register::read(8, 9, 1), Register::read(10, 11, 2)}),
            Verdict::violation);
}

TEST(Linearizability, ALaterReadDoesNotGoBack) {
  const auto write = Register::write(1, 100, 7);
  EXPECT_EQ(verdict_of({write, Register::read(2, 3, 0), Register::read(4, 5, 7)}),
            Verdict::linearizable);
  EXPECT_EQ(verdict_of({write, Register::read(2, 3, 7), Register::read(4, 5, 0)}),
            Verdict::violation);
  // The reads overlap, so their order is open.
  EXPECT_EQ(verdict_of({write, Register::read(2, 5, 7), Register::read(3, 6, 0)}),
            Verdict::linearizable);
}

TEST(Linearizability, AnUnansweredOperationMayTakeEffectLateOrNever) {
  const auto lost = Register::write(1, kNoReturn, 7);
  EXPECT_EQ(verdict_of({lost, Register::read(2, 3, 0)}), Verdict::linearizable);
  EXPECT_EQ(verdict_of({lost, Register::read(2, 3, 0), Register::read(90, 91, 7)}),
            Verdict::linearizable);
  EXPECT_EQ(verdict_of({lost, Register::read(2, 3, 7), Register::read(4, 5, 0)}),
            Verdict::violation);
  // It does not take effect before its call.
  EXPECT_EQ(verdict_of({Register::read(1, 2, 7), Register::write(3, kNoReturn, 7)}),
            Verdict::violation);
  // Nor twice.
  EXPECT_EQ(verdict_of(
                {lost, Register::read(2, 3, 7), Register::write(4, 5, 8), Register::read(6, 7, 7)}),
            Verdict::violation);
}

TEST(Linearizability, AnUnansweredOperationHasALastChance) {
  auto lost = Register::write(1, kNoReturn, 7);
  lost.gone = 10;
  const auto early = Register::read(2, 12, 0);
  EXPECT_EQ(verdict_of({lost, early, Register::read(11, 13, 7)}), Verdict::linearizable);
  EXPECT_EQ(verdict_of({lost, early, Register::read(14, 15, 7)}), Verdict::linearizable);
  EXPECT_EQ(verdict_of({lost, Register::read(11, 12, 0), Register::read(14, 15, 0)}),
            Verdict::linearizable);
  EXPECT_EQ(verdict_of({lost, Register::read(11, 12, 0), Register::read(14, 15, 7)}),
            Verdict::violation);
}

TEST(Linearizability, OperationsWithARankOccurInItsOrder) {
  auto a = Register::write(1, 6, 1);
  auto b = Register::write(2, 7, 2);
  a.rank = 2;
  b.rank = 1;
  EXPECT_EQ(verdict_of({a, b, Register::read(8, 9, 1)}), Verdict::linearizable);
  EXPECT_EQ(verdict_of({a, b, Register::read(8, 9, 2)}), Verdict::violation);
  // Nor against the order of their calls and returns.
  b.call = 7;
  b.ret = 8;
  EXPECT_EQ(verdict_of({a, b}), Verdict::violation);
}

TEST(Linearizability, OfTwoSwapsOfOneValueOneFails) {
  const auto first = Register::swap(1, 10, 0, 1, true);
  EXPECT_EQ(verdict_of({first, Register::swap(2, 11, 0, 2, false)}), Verdict::linearizable);
  EXPECT_EQ(verdict_of({first, Register::swap(2, 11, 0, 2, true)}), Verdict::violation);
  EXPECT_EQ(verdict_of({first, Register::swap(2, kNoReturn, 0, 2, true)}), Verdict::linearizable);
}

TEST(Linearizability, TheOrderFoundExplainsTheHistory) {
  const std::vector<Register::Op> ops = {Register::write(1, 6, 1), Register::read(2, 3, 2),
                                         Register::write(0, 7, 2), Register::read(4, 5, 1)};
  const Register model;
  const Linearization found = LinearizabilityChecker<Register>(model).check(ops, 0);
  EXPECT_EQ(found.verdict, Verdict::linearizable);
  EXPECT_EQ(found.order, (std::vector<size_t>{2, 1, 0, 3}));
}

TEST(Linearizability, TheSearchEndsAtItsBound) {
  std::vector<Register::Op> ops;
  for (int i = 0; i < 20; ++i) ops.push_back(Register::write(static_cast<uint64_t>(i), 100, i));
  ops.push_back(Register::read(200, 201, 99));
  const Register model;
  const LinearizabilityChecker<Register> checker(model, 1'000);
  EXPECT_EQ(checker.check(ops, 0).verdict, Verdict::undecided);
}

// Histories drawn from a real order of instants, and the same with one read falsified.
struct Drawn {
  std::vector<Register::Op> ops;
  std::vector<std::pair<uint64_t, size_t>> reads;  // instant, operation
  std::map<uint64_t, int> values;                  // from each instant on
};

Drawn draw(Random& random) {
  struct Timed {
    uint64_t at;
    size_t op;
  };
  Drawn drawn;
  std::vector<Timed> order;
  uint64_t clients[4] = {};
  for (int i = 0; i < 24; ++i) {
    uint64_t& now = clients[random.below(4)];
    const uint64_t call = now + 1 + random.below(40);
    const uint64_t at = call + 1 + random.below(40);
    now = at + 1 + random.below(40);
    const bool read = random.one_in(2);
    // Odd and even numbers keep positions apart.
    drawn.ops.push_back({call * 64 + static_cast<uint64_t>(i), now * 64 + static_cast<uint64_t>(i),
                         read ? Register::Kind::read : Register::Kind::write, i + 1});
    order.push_back({at * 64 + static_cast<uint64_t>(i), drawn.ops.size() - 1});
  }
  std::sort(order.begin(), order.end(), [](auto& a, auto& b) { return a.at < b.at; });
  int value = 0;
  for (const Timed& one : order) {
    Register::Op& op = drawn.ops[one.op];
    if (op.kind == Register::Kind::write) {
      value = op.value;
      drawn.values[one.at] = value;
      if (random.one_in(8)) op.ret = kNoReturn;
    } else {
      op.value = value;
      drawn.reads.emplace_back(one.at, one.op);
    }
  }
  return drawn;
}

TEST(Linearizability, DrawnHistoriesAreLinearizable) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    EXPECT_EQ(verdict_of(draw(random).ops), Verdict::linearizable) << "seed " << seed;
  }
}

// Whether any order explains a history, by trying all of them.
bool brute_force(const std::vector<Register::Op>& ops, std::vector<bool>& done, int state) {
  const Register model;
  bool all = true;
  uint64_t first_return = kNoReturn;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (done[i]) continue;
    first_return = std::min(first_return, ops[i].ret);
    all = all && ops[i].ret == kNoReturn;
  }
  if (all) return true;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (done[i] || ops[i].call > first_return) continue;
    for (const int next : model.step(state, ops[i])) {
      done[i] = true;
      const bool found = brute_force(ops, done, next);
      done[i] = false;
      if (found) return true;
    }
  }
  return false;
}

TEST(Linearizability, ItAgreesWithATrialOfAllOrders) {
  size_t violations = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    Drawn drawn = draw(random);
    drawn.ops.resize(8);
    for (Register::Op& op : drawn.ops) {
      if (op.kind == Register::Kind::read) op.value = static_cast<int>(random.below(9));
    }
    std::vector<bool> done(drawn.ops.size());
    const bool expected = brute_force(drawn.ops, done, 0);
    violations += expected ? 0 : 1;
    EXPECT_EQ(verdict_of(drawn.ops) == Verdict::linearizable, expected) << "seed " << seed;
  }
  EXPECT_GT(violations, 100u);
  EXPECT_LT(violations, 399u);
}

}  // namespace
}  // namespace cellar::support
