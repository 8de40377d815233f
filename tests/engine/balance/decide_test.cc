// The rules of the balancer, as tables of examples: the view of the node in, the change out.
#include "engine/balance/decide.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace cellar::engine {
namespace {

constexpr uint64_t kMiB = 1u << 20;

// A tablet in short: table, shard, MiB, requests a second.
struct Of {
  uint64_t table = 1;
  uint32_t shard = 0;
  double mib = 0;
  double load = 0;
};

// Tablet ids count from 1; tablet i of a table begins at row "i<id>". The sampled rows are spread
// evenly over it.
BalanceView view_of(uint32_t shards, const std::vector<Of>& tablets, int64_t imbalanced_us = 0) {
  BalanceView view;
  view.shards = shards;
  view.imbalanced_us = imbalanced_us;
  view.changes_left = 100;
  for (size_t i = 0; i < tablets.size(); ++i) {
    const Of& of = tablets[i];
    const bool first = i == 0 || tablets[i - 1].table != of.table;
    const bool last = i + 1 == tablets.size() || tablets[i + 1].table != of.table;
    TabletLoad one;
    const auto name = [](size_t n) { return fmt::format("i{:02}", n); };
    one.tablet = {TabletId{i + 1},   TableId{of.table},        Epoch{1},
                  ShardId{of.shard}, first ? "" : name(i + 1), last ? "" : name(i + 2)};
    one.bytes = static_cast<uint64_t>(of.mib * kMiB);
    one.load = of.load;
    one.has_held_data = true;
    if (of.load > 0) {
      for (int n = 0; n < 20; ++n)
        one.sampled_rows.push_back(fmt::format("{}/{:02}", name(i + 1), n));
    }
    view.tablets.push_back(one);
  }
  return view;
}

// "split 1 at i01/10 (early)", "move 2 to 1 (spread)", "merge 1 2 (empty)", "-".
std::string decided(const BalanceView& view, const BalanceOptions& options = {}) {
  const auto change = decide(view, options);
  if (!change) return "-";
  switch (change->kind) {
    case Reshape::Kind::split:
      return fmt::format("split {} at {} ({})", change->tablet.value(),
                         change->row.empty() ? "?" : change->row, change->why);
    case Reshape::Kind::move:
      return fmt::format("move {} to {} ({})", change->tablet.value(), change->to.value(),
                         change->why);
    case Reshape::Kind::merge:
      return fmt::format("merge {} {} ({})", change->tablet.value(), change->right.value(),
                         change->why);
  }
  return "?";
}

constexpr int64_t kLong = 10 * kPersistUs;

TEST(Decide, ATabletThatIsTooLargeIsCut) {
  EXPECT_EQ(decided(view_of(1, {{1, 0, 1023}})), "-");
  EXPECT_EQ(decided(view_of(1, {{1, 0, 1024}})), "split 1 at ? (size)");
  EXPECT_EQ(decided(view_of(2, {{1, 0, 1100}, {1, 1, 1200}})), "split 2 at ? (size)");
}

TEST(Decide, AGrowingTableIsCutUntilEveryShardHasAPart) {
  EXPECT_EQ(decided(view_of(2, {{1, 0, 31}})), "-");
  EXPECT_EQ(decided(view_of(2, {{1, 0, 32}})), "split 1 at ? (early)");
  EXPECT_EQ(decided(view_of(1, {{1, 0, 32}})), "-");
  EXPECT_EQ(decided(view_of(2, {{1, 0, 16}, {1, 0, 16}})), "move 2 to 1 (spread)");
  EXPECT_EQ(decided(view_of(2, {{1, 0, 16}, {1, 1, 16}})), "-");
  EXPECT_EQ(decided(view_of(4, {{1, 0, 16}, {1, 1, 24}})), "split 2 at ? (early)");
  EXPECT_EQ(decided(view_of(4, {{1, 0, 16}, {1, 1, 12}, {1, 1, 12}})), "move 3 to 2 (spread)");
}

TEST(Decide, AHotTableIsCutWhereItsRequestsAre) {
  EXPECT_EQ(decided(view_of(2, {{1, 0, 1, 1999}})), "-");
  EXPECT_EQ(decided(view_of(2, {{1, 0, 1, 2000}})), "split 1 at i01/10 (early)");
  EXPECT_EQ(decided(view_of(2, {{1, 0, 1, 1000}, {1, 0, 1, 1000}})), "move 2 to 1 (spread)");
}

TEST(Decide, NoSpreadOntoAShardThatWouldBeTheBusiest) {
  // Shard 1 is busy with table 2.
  EXPECT_EQ(decided(view_of(2, {{1, 0, 20, 100}, {1, 0, 20, 100}, {2, 1, 1, 1500}})), "-");
  // A few requests do not make a shard busy.
  EXPECT_EQ(decided(view_of(2, {{1, 0, 20, 0}, {1, 0, 20, 0}, {2, 1, 1, 40}})),
            "move 2 to 1 (spread)");
}

TEST(Decide, LoadMovesOnlyOnceTheImbalanceHasLasted) {
  const std::vector<Of> tablets = {{1, 0, 1, 1500}, {2, 0, 1, 1400}, {3, 1, 1, 500}};
  EXPECT_EQ(decided(view_of(2, tablets, 0)), "-");
  EXPECT_EQ(decided(view_of(2, tablets, kPersistUs)), "move 2 to 1 (load)");
  EXPECT_TRUE(is_imbalanced(view_of(2, tablets)));
  EXPECT_FALSE(is_imbalanced(view_of(2, {{1, 0, 1, 1600}, {2, 1, 1, 1300}})));
}

TEST(Decide, AShardThatOneTabletKeepsBusyHasItCut) {
  const std::vector<Of> tablets = {{1, 0, 8, 1900}, {2, 1, 1, 100}};
  EXPECT_EQ(decided(view_of(2, tablets, kLong)), "split 1 at i01/10 (load)");
  // Moving it would only change which shard is busy.
  BalanceView one_row = view_of(2, tablets, kLong);
  one_row.tablets[0].sampled_rows.assign(20, "i01/00");
  EXPECT_EQ(decided(one_row), "-") << "one row cannot be shared";
  EXPECT_EQ(decided(view_of(2, {{1, 0, 0.1, 1900}}, kLong)), "-") << "next to nothing in it";
}

TEST(Decide, QuietDataMovesToTheEmptierShard) {
  EXPECT_EQ(decided(view_of(2, {{1, 0, 30}, {2, 0, 28}, {3, 0, 20}})), "move 1 to 1 (data)");
  EXPECT_EQ(decided(view_of(2, {{1, 0, 30}, {2, 1, 28}, {3, 0, 20}})), "-");
  EXPECT_EQ(decided(view_of(2, {{1, 0, 500}, {1, 1, 20}})), "-")
      << "the only one that the table has there";
}

TEST(Decide, WhatWasMovedRecentlyOrRefusedIsLeftAlone) {
  BalanceView view = view_of(2, {{1, 0, 16}, {1, 0, 16}});
  view.tablets[1].moved_recently = true;
  EXPECT_EQ(decided(view), "move 1 to 1 (spread)");
  view.tablets[0].refused = true;
  EXPECT_EQ(decided(view), "-");
  view = view_of(2, {{1, 0, 2000}});
  view.tablets[0].moved_recently = true;
  EXPECT_EQ(decided(view), "split 1 at ? (size)") << "what was moved may be cut";
  view.tablets[0].refused = true;
  EXPECT_EQ(decided(view), "-");
  view.tablets[0].refused = false;
  view.changes_left = 0;
  EXPECT_EQ(decided(view), "-") << "enough for this minute";
}

BalanceView with_spent(BalanceView view, std::vector<size_t> spent) {
  for (TabletLoad& one : view.tablets) one.idle_us = 600'000'000;
  for (const size_t i : spent) view.tablets[i].bytes = 0;
  return view;
}

TEST(Decide, WhatIsEmptiedIsMergedWithANeighbour) {
  const std::vector<Of> tablets = {{1, 0, 1}, {1, 1, 1}, {1, 1, 1}};
  EXPECT_EQ(decided(with_spent(view_of(2, tablets), {1})), "merge 2 3 (empty)")
      << "the one on the same shard";
  EXPECT_EQ(decided(with_spent(view_of(2, tablets), {0})), "merge 1 2 (empty)");
  EXPECT_EQ(decided(with_spent(view_of(2, tablets), {2})), "merge 2 3 (empty)");
  EXPECT_EQ(decided(view_of(2, {{1, 0, 0}, {1, 0, 1}})), "-") << "asked for lately";
  EXPECT_EQ(decided(with_spent(view_of(2, {{1, 0, 0}}), {0})), "-") << "the only one of its table";
}

TEST(Decide, TabletsThatNeverHeldDataAreLeftAsTheyWereMade) {
  BalanceView view = with_spent(view_of(2, {{1, 0, 1}, {1, 1, 0}, {1, 0, 0}}), {1, 2});
  view.tablets[1].has_held_data = view.tablets[2].has_held_data = false;
  EXPECT_EQ(decided(view), "-");
}

TEST(Decide, NothingIsMergedThatWouldBeCutAgain) {
  EXPECT_EQ(decided(with_spent(view_of(2, {{1, 0, 100}, {1, 1, 0}}), {1})), "-");
}

// Repeated decisions converge from every start, and every shard has tablets in the end.
TEST(Decide, ComesToRest) {
  for (const uint32_t shards : {2u, 3u, 5u, 8u}) {
    BalanceView view = view_of(shards, {{1, 0, 64, 50'000}}, kLong);
    int changes = 0;
    for (; changes < 200; ++changes) {
      const auto change = decide(view, {});
      if (!change) break;
      const auto at = std::find_if(
          view.tablets.begin(), view.tablets.end(),
          [&change](const TabletLoad& one) { return one.tablet.id == change->tablet; });
      if (change->kind == Reshape::Kind::move) {
        at->tablet.shard = change->to;
        continue;
      }
      ASSERT_EQ(change->kind, Reshape::Kind::split);
      ASSERT_FALSE(change->row.empty());
      TabletLoad right = *at;
      right.tablet.id = TabletId{view.tablets.size() + 1};
      right.tablet.start = at->tablet.end = change->row;
      right.bytes = at->bytes /= 2;
      right.load = at->load /= 2;
      for (TabletLoad* part : {&*at, &right}) {
        part->sampled_rows.clear();
        for (int n = 0; n < 20; ++n) {
          part->sampled_rows.push_back(fmt::format("{}/{:02}", part->tablet.start, n));
        }
      }
      view.tablets.insert(at + 1, right);
    }
    EXPECT_LT(changes, 200) << shards << " shards";
    std::vector<double> load(shards);
    for (const TabletLoad& one : view.tablets) load[one.tablet.shard.value()] += one.load;
    for (const double part : load) EXPECT_GT(part, 0.5 * 50'000 / shards) << shards << " shards";
  }
}

TEST(LoadMedian, CutsWhereHalfOfTheRequestsLie) {
  TabletLoad one;
  one.tablet.start = "b";
  one.tablet.end = "y";
  const auto rows = [&one](const std::string& letters) {
    one.sampled_rows.clear();
    for (const char c : letters) one.sampled_rows.emplace_back(1, c);
    return load_median(one).value_or("-");
  };
  EXPECT_EQ(rows("bcdefghi"), "f");
  EXPECT_EQ(rows("bcd"), "-") << "too few to tell";
  EXPECT_EQ(rows("ffffffffgg"), "g") << "the row with most of them stays alone on its side";
  EXPECT_EQ(rows("ccffffffff"), "f");
  EXPECT_EQ(rows("ffffffffff"), "-");
  EXPECT_EQ(rows("bbbbbbbbbb"), "-");
  EXPECT_EQ(rows("bbbbbbbbcc"), "c");
  EXPECT_EQ(rows("aaaaaaaazzzzzzzz"), "-") << "rows of another time";
}

}  // namespace
}  // namespace cellar::engine
