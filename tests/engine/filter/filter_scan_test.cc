// Random filter trees over random histories. A cursor, with and without the parts that move out of
// the tree, over memtables and runs that block, in slices that end anywhere and with a sink that
// pauses anywhere, answers what a model computes from the live cells. Seeking, pruning and early
// counting never change an answer.
#include <gtest/gtest.h>

#include "tests/support/filter_model.h"
#include "tests/support/scan_driver.h"
#include "tests/support/seeds.h"
#include "tests/support/tablet_bed.h"

namespace cellar::support {
namespace {

using engine::PushDown;

// The answer with the plan of `filter`.
std::vector<OwnedCell> answer(TabletBed& bed, ReadSpec spec, const FilterSpec& filter,
                              PushDown push_down, Random& random, bool smooth) {
  auto plan = engine::plan_filter(filter, push_down);
  EXPECT_TRUE(plan.has_value()) << plan.error().to_string();
  if (!plan) return {};
  plan->narrow(spec);
  const auto cursor = bed.open(spec, smooth ? 0 : 4);
  CollectingSink sink(smooth ? nullptr : &random);
  const uint32_t slice = smooth ? 100'000 : 1 + static_cast<uint32_t>(random.below(20));
  const auto cells = scan_all(*cursor, sink, slice, [] {});
  EXPECT_EQ(cursor->rows(), sink.rows);
  return cells;
}

// Adds a row wider than a reader steps over.
void widen(TabletBed& bed, Random& random) {
  std::vector<OwnedMutation> ops;
  for (uint64_t i = 0, n = 5 + random.below(60); i < n; ++i) {
    OwnedMutation op = bed.random_op();
    if (op.kind != Mutation::Kind::set_cell && !random.one_in(4)) continue;
    op.qualifier = fmt::format("q{:02}", random.below(30));
    ops.push_back(std::move(op));
  }
  if (!ops.empty()) bed.mutate(random.one_in(2) ? "a" : "c", ops);
}

TEST(FilterScan, AnyTreeAnswersWhatTheModelAnswers) {
  for (const uint64_t seed : test_seeds(10)) {
    Random random(seed);
    TabletBed bed(random);
    for (int step = 0; step < 30; ++step) {
      for (uint64_t i = 0, n = random.below(8); i < n; ++i) bed.random_commit();
      if (random.one_in(2)) widen(bed, random);
      if (random.one_in(6)) bed.freeze();
      if (random.one_in(8)) bed.flush();
      for (int i = 0; i < 6; ++i) {
        ReadSpec spec = bed.random_spec();
        const uint64_t row_limit = std::exchange(spec.row_limit, 0);
        const FilterSpec filter = random_filter(random, 1 + random.below(5));
        const auto expected = filter_rows(filter, bed.expected(spec), row_limit);
        spec.row_limit = row_limit;
        const auto check = [&](PushDown push_down, bool smooth) {
          const auto got = answer(bed, spec, filter, push_down, random, smooth);
          EXPECT_EQ(to_text(got), to_text(expected))
              << "seed " << seed << ", filter " << to_text(filter) << ", "
              << (spec.reversed ? "reversed" : "forwards") << ", limit " << row_limit << ", newest "
              << spec.versions << ", times [" << spec.time_range.start_us << ", "
              << spec.time_range.end_us << ")" << (smooth ? "" : ", in pieces")
              << (push_down == PushDown::yes ? "" : ", nothing pushed down");
        };
        // The plan becomes a time range and versions only if the read has none of its own: the two
        // do not commute.
        const bool plain = spec.versions == 0;
        check(plain ? PushDown::yes : PushDown::no, true);
        check(PushDown::no, false);
        if (plain) check(PushDown::yes, false);
        if (HasFailure()) return;
      }
    }
  }
}

// Entries that a read of a row of 10,000 columns in two families examines.
uint64_t entries_for(TabletBed& bed, const FilterSpec& filter, size_t cells) {
  auto plan = engine::plan_filter(filter);
  EXPECT_TRUE(plan);
  ReadSpec spec;
  spec.rows = RowSet::everything();
  plan->narrow(spec);
  const auto cursor = bed.open(spec);
  CollectingSink sink;
  EXPECT_EQ(scan_all(*cursor, sink, 100'000, [] {}).size(), cells);
  return cursor->entries_read();
}

TEST(FilterScan, WhatAFilterSaysLiterallyIsSought) {
  Random random(1);
  TabletBed bed(random);
  std::vector<OwnedMutation> ops;
  for (const char* family : {"f", "g"}) {
    for (int i = 0; i < 5'000; ++i) {
      ops.push_back({Mutation::Kind::set_cell, family, fmt::format("q{:04}", i), "v", 5});
    }
  }
  bed.mutate("row", ops);
  bed.flush();
  using K = FilterKind;
  const auto leaf = [](K kind, std::string text) { return filter_of(filter_leaf(kind, text)); };
  const FilterSpec family = leaf(K::family_regex, "g");
  const FilterSpec qualifier = leaf(K::qualifier_regex, "q4000");
  EXPECT_LT(entries_for(bed, qualifier, 2), 100u);
  EXPECT_LT(entries_for(bed, filter_tree(K::chain, {family, qualifier}), 1), 100u);
  EXPECT_LT(entries_for(bed, leaf(K::qualifier_regex, "q400.*"), 20), 150u);
  EXPECT_LT(entries_for(bed, family, 5'000), 5'100u);
}

}  // namespace
}  // namespace cellar::support
