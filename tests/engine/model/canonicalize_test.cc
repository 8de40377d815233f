// The canonical form, by example and against a direct replay of random mutations.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/model/mutation.h"
#include "io/base/random.h"
#include "tests/support/row_model.h"
#include "tests/support/seeds.h"

namespace cellar {
namespace {

using support::OwnedMutation;
using Kind = Mutation::Kind;

TableSchema schema() {
  TableSchema s;
  s.name = "t";
  s.granularity = Granularity::millis;
  s.families = {{"f", CommitStamp{}}, {"g", CommitStamp{}}};
  return s;
}

OwnedMutation set(std::string column, int64_t timestamp_us, std::string value) {
  return {Kind::set_cell, column.substr(0, 1), column.substr(2), std::move(value), timestamp_us};
}
OwnedMutation delete_column(std::string column, int64_t start_us = 0,
                            int64_t end_us = kMaxTimestampUs) {
  return {Kind::delete_from_column, column.substr(0, 1), column.substr(2), "", 0, start_us, end_us};
}
OwnedMutation delete_family(std::string family) {
  OwnedMutation m;
  m.kind = Kind::delete_from_family;
  m.family = std::move(family);
  return m;
}
OwnedMutation delete_row() {
  OwnedMutation m;
  m.kind = Kind::delete_from_row;
  return m;
}

std::string text(const Mutation& m) {
  switch (m.kind) {
    case Kind::set_cell:
      return fmt::format("set {}:{}@{}={}", m.family, m.qualifier, m.timestamp_us, m.value);
    case Kind::delete_from_column:
      return fmt::format("delete {}:{} [{},{})", m.family, m.qualifier, m.start_us,
                         m.end_us == kMaxTimestampUs ? "inf" : fmt::format("{}", m.end_us));
    case Kind::delete_from_family:
      return fmt::format("delete {}", m.family);
    case Kind::delete_from_row:
      return "delete row";
  }
  return "?";
}

std::vector<Mutation> canonical(const std::vector<OwnedMutation>& ops, int64_t now_us = 0) {
  std::vector<Mutation> views;
  for (const auto& op : ops) views.push_back(op.view());
  std::vector<Mutation> out;
  canonicalize({"r", views}, schema(), now_us, out);
  return out;
}

std::string canonical_text(const std::vector<OwnedMutation>& ops, int64_t now_us = 0) {
  std::string out;
  for (const Mutation& m : canonical(ops, now_us)) out += (out.empty() ? "" : "; ") + text(m);
  return out;
}

TEST(Canonicalize, TheLastSetOfATimestampStands) {
  EXPECT_EQ(canonical_text(
                {set("f:q", 5, "a"), delete_column("f:q"), set("f:q", 5, "b"), set("f:q", 5, "c")}),
            "delete f:q [0,inf); set f:q@5=c");
}

TEST(Canonicalize, NothingBeforeTheLastRowDeleteIsLeft) {
  EXPECT_EQ(canonical_text({set("f:q", 5, "a"), delete_family("g"), delete_row(),
                            set("f:q", 6, "b"), delete_row(), set("g:q", 7, "c")}),
            "delete row; set g:q@7=c");
}

TEST(Canonicalize, AFamilyDeleteTakesWhatStandsBeforeIt) {
  EXPECT_EQ(canonical_text({set("f:q", 5, "a"), delete_column("f:p"), set("g:q", 5, "x"),
                            delete_family("f"), set("f:r", 6, "b"), delete_family("f")}),
            "delete f; set g:q@5=x");
}

TEST(Canonicalize, AColumnDeleteTakesOnlyItsRange) {
  EXPECT_EQ(canonical_text({set("f:q", 5, "a"), set("f:q", 9, "b"), delete_column("f:q", 0, 9)}),
            "delete f:q [0,9); set f:q@9=b");
}

TEST(Canonicalize, OverlappingDeletesOfAColumnBecomeTheirUnion) {
  EXPECT_EQ(canonical_text({delete_column("f:q", 10, 20), delete_column("f:q", 0, 5),
                            delete_column("f:q", 15, 30), delete_column("f:q", 0, 5),
                            delete_column("f:p")}),
            "delete f:p [0,inf); delete f:q [0,5); delete f:q [10,30)");
}

TEST(Canonicalize, ServerStampsAreRoundedDownAndMeetExplicitOnes) {
  EXPECT_EQ(canonical_text({set("f:q", kServerStamped, "a")}, 1999), "set f:q@1000=a");
  EXPECT_EQ(canonical_text({set("f:q", kServerStamped, "a"), set("f:q", 1000, "b")}, 1999),
            "set f:q@1000=b");
}

OwnedMutation random_op(Random& random) {
  const char* columns[] = {"f:a", "f:b", "g:a", "g:"};
  const std::string column = columns[random.below(4)];
  const auto start = static_cast<int64_t>(random.below(12));
  switch (random.below(12)) {
    case 0:
      return delete_row();
    case 1:
      return delete_family(column.substr(0, 1));
    case 2:
    case 3:
    case 4:
      return delete_column(
          column, start,
          random.one_in(4) ? kMaxTimestampUs : start + 1 + static_cast<int64_t>(random.below(6)));
    default:
      return set(column, random.one_in(8) ? kServerStamped : start,
                 fmt::format("{}", random.below(1000)));
  }
}

// A canonical commit is a set: its deletes apply to the state before it, then its sets, in any
// order.
TEST(Canonicalize, RandomMutationsEqualTheirReplayInOrder) {
  for (const uint64_t seed : test_seeds(3000)) {
    Random random(seed);
    std::vector<OwnedMutation> before;
    for (int i = 0; i < 10; ++i) {
      OwnedMutation op = random_op(random);
      if (op.kind == Kind::set_cell) before.push_back(op);
    }
    std::vector<OwnedMutation> ops;
    for (uint64_t i = 0, n = 1 + random.below(random.one_in(3) ? 30 : 5); i < n; ++i)
      ops.push_back(random_op(random));

    std::vector<Mutation> got = canonical(ops);
    std::set<std::string> cells;
    std::vector<OwnedMutation> reordered;
    bool sets_began = false;
    for (const Mutation& m : got) {
      EXPECT_TRUE(m.kind == Kind::set_cell || !sets_began) << "a delete after a set, seed " << seed;
      sets_began |= m.kind == Kind::set_cell;
      EXPECT_TRUE(cells
                      .insert(m.kind == Kind::set_cell
                                  ? fmt::format("{}:{}@{}", m.family, m.qualifier, m.timestamp_us)
                                  : text(m))
                      .second)
          << text(m) << " twice, seed " << seed;
      reordered.push_back({m.kind, std::string(m.family), std::string(m.qualifier),
                           std::string(m.value), m.timestamp_us, m.start_us, m.end_us});
    }
    const auto first_set = std::find_if(reordered.begin(), reordered.end(),
                                        [](const auto& m) { return m.kind == Kind::set_cell; });
    std::reverse(reordered.begin(), first_set);
    std::reverse(first_set, reordered.end());

    support::RowModel want(Granularity::millis);
    support::RowModel have(Granularity::millis);
    want.mutate(CommitStamp{1}, "r", before, 0);
    have.mutate(CommitStamp{1}, "r", before, 0);
    want.mutate(CommitStamp{2}, "r", ops, 0);
    have.mutate(CommitStamp{2}, "r", reordered, 0);
    ReadSpec all;
    all.rows = RowSet::everything();
    ASSERT_EQ(support::to_text(have.read(all)), support::to_text(want.read(all)))
        << "seed " << seed;
  }
}

// 100,000 operations on one column in every mixture; quadratic work would take seconds.
TEST(Canonicalize, ManyMixedOperationsOfOneColumnAreSettledInOneSweep) {
  Random random(7);
  std::vector<OwnedMutation> ops;
  for (size_t i = 0; i < kMaxMutationsPerRow; ++i) {
    const auto t = static_cast<int64_t>(random.below(1'000'000)) * 1000;
    ops.push_back(i % 2 == 0 ? set("f:q", t, "v") : delete_column("f:q", t, t + 2'000'000));
  }
  const auto got = canonical(ops);
  EXPECT_GT(got.size(), 10u);
  EXPECT_LE(got.size(), ops.size());
}

}  // namespace
}  // namespace cellar
