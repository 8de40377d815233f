// Which parts move out of a filter's tree, and which must not.
#include <gtest/gtest.h>

#include "engine/filter/compiled_filter.h"
#include "tests/support/filter_model.h"

namespace cellar::engine {
namespace {

using support::filter_leaf;
using support::filter_of;
using support::filter_tree;
using K = FilterKind;

FilterSpec leaf(K kind, std::string text = {}, int64_t count = 0) {
  return filter_of(filter_leaf(kind, std::move(text), count));
}
FilterSpec chain(const std::vector<FilterSpec>& parts) { return filter_tree(K::chain, parts); }
FilterSpec times(int64_t start_us, int64_t end_us) {
  FilterNode n = filter_leaf(K::time_range);
  n.has_start = n.has_end = true;
  n.start = start_us;
  n.end = end_us;
  return filter_of(n);
}
FilterSpec columns(std::string family, std::string start, std::string end) {
  FilterNode n = filter_leaf(K::column_range, std::move(start));
  n.has_start = n.has_end = true;
  n.end_text = std::move(end);
  n.family = std::move(family);
  return filter_of(n);
}
FilterPlan plan(const FilterSpec& spec) {
  auto made = plan_filter(spec);
  EXPECT_TRUE(made.has_value()) << made.error().to_string();
  return made ? *std::move(made) : FilterPlan();
}

TEST(FilterPlan, WhatAReadCanDoLeavesNoFilter) {
  EXPECT_FALSE(plan(FilterSpec()).filter);
  EXPECT_FALSE(plan(leaf(K::pass)).filter);
  const FilterPlan both =
      plan(chain({times(1, 9), chain({leaf(K::pass), times(3, 12)}),
                  leaf(K::cells_per_column, {}, 4), leaf(K::cells_per_column, {}, 2)}));
  EXPECT_FALSE(both.filter);
  EXPECT_EQ(both.time_range.start_us, 3);
  EXPECT_EQ(both.time_range.end_us, 9);
  EXPECT_EQ(both.versions, 2u);
  EXPECT_TRUE(plan(chain({leaf(K::pass), leaf(K::block)})).nothing);
  EXPECT_TRUE(plan(chain({times(1, 3), times(3, 5)})).nothing);
}

TEST(FilterPlan, WhatDoesNotCommuteStays) {
  const FilterPlan newest_first = plan(chain({leaf(K::cells_per_column, {}, 1), times(1, 9)}));
  EXPECT_EQ(newest_first.versions, 1u);
  EXPECT_EQ(newest_first.time_range.end_us, kMaxTimestampUs);
  ASSERT_TRUE(newest_first.filter);
  EXPECT_EQ(newest_first.filter->head().size(), 1u);

  const FilterPlan value_first =
      plan(chain({leaf(K::value_regex, "v"), leaf(K::cells_per_column, {}, 1), times(1, 9)}));
  EXPECT_EQ(value_first.versions, 0u);
  EXPECT_EQ(value_first.time_range.end_us, kMaxTimestampUs);
  EXPECT_EQ(value_first.filter->head().size(), 3u);

  const FilterPlan times_kept = plan(
      chain({leaf(K::cells_per_column, {}, 3), times(1, 9), leaf(K::cells_per_column, {}, 1)}));
  EXPECT_EQ(times_kept.versions, 3u);
  EXPECT_EQ(times_kept.filter->head().size(), 2u);

  const FilterPlan counted =
      plan(chain({leaf(K::cells_per_row, {}, 3), leaf(K::family_regex, "f"), columns("f", "a", "b"),
                  times(1, 9), leaf(K::cells_per_column, {}, 1)}));
  EXPECT_EQ(counted.versions, 0u);
  EXPECT_FALSE(counted.filter->has_column_gate());
  EXPECT_FALSE(counted.filter->has_range());
  EXPECT_EQ(counted.filter->head().size(), 5u);
}

TEST(FilterPlan, RowsAndColumnsMoveAhead) {
  const FilterPlan moved =
      plan(chain({leaf(K::value_regex, "v.*"), leaf(K::strip_value), columns("f", "b", "y"),
                  leaf(K::qualifier_regex, ".*x"), columns("f", "a", "c"),
                  leaf(K::row_regex, "user#.*"), leaf(K::label, "l")}));
  const CompiledFilter& f = *moved.filter;
  EXPECT_EQ(f.head().size(), 3u);
  EXPECT_TRUE(f.has_range());
  EXPECT_EQ(f.range_family(), "f");
  EXPECT_EQ(f.range_start(), "b");
  EXPECT_TRUE(f.in_range_end("bzz"));
  EXPECT_FALSE(f.in_range_end("c"));
  EXPECT_EQ(f.column_gate().size(), 1u);
  EXPECT_EQ(f.row_gate().size(), 1u);
  EXPECT_EQ(moved.rows.start, "user#");
  EXPECT_TRUE(f.tail().empty());
  // No key can be the start of such a family, and none of its cells exists.
  EXPECT_TRUE(plan(columns(std::string("f\0\1", 3), "a", "b")).nothing);
  EXPECT_TRUE(plan(chain({columns("f", "a", "b"), columns("g", "a", "b")})).nothing);
  EXPECT_TRUE(plan(columns("f", "a", "a")).nothing);
}

TEST(FilterPlan, WhatARegexSaysLiterallyIsARange) {
  const FilterPlan family = plan(leaf(K::family_regex, "f"));
  EXPECT_TRUE(family.filter->in_one_family());
  EXPECT_EQ(family.filter->range_family(), "f");
  EXPECT_FALSE(family.filter->has_column_gate());
  EXPECT_TRUE(family.filter->in_range_end("\xff"));

  const FilterPlan qualifier = plan(leaf(K::qualifier_regex, "a\\.b"));
  EXPECT_TRUE(qualifier.filter->has_range());
  EXPECT_FALSE(qualifier.filter->in_one_family());
  EXPECT_FALSE(qualifier.filter->has_column_gate());
  EXPECT_EQ(qualifier.filter->range_start(), "a.b");
  EXPECT_TRUE(qualifier.filter->in_range_end("a.b"));
  EXPECT_FALSE(qualifier.filter->in_range_end(std::string("a.b\0", 4)));

  const FilterPlan prefix = plan(leaf(K::qualifier_regex, "user-.*"));
  EXPECT_EQ(prefix.filter->column_gate().size(), 1u);
  EXPECT_EQ(prefix.filter->range_start(), "user-");
  EXPECT_TRUE(prefix.filter->in_range_end("user-\xfe"));
  EXPECT_FALSE(prefix.filter->in_range_end("user/"));

  EXPECT_FALSE(plan(leaf(K::qualifier_regex, ".*x")).filter->has_range());
  EXPECT_FALSE(plan(leaf(K::family_regex, "f|g")).filter->has_range());
  EXPECT_TRUE(plan(chain({leaf(K::family_regex, "f"), columns("g", "a", "b")})).nothing);
  EXPECT_TRUE(
      plan(chain({leaf(K::qualifier_regex, "a"), leaf(K::qualifier_regex, "b.*")})).nothing);
  // \d and \pN are classes, \x41 an A.
  EXPECT_TRUE(plan(leaf(K::qualifier_regex, "a\\d")).filter->has_column_gate());
  EXPECT_EQ(plan(leaf(K::qualifier_regex, "\\x41")).filter->range_start(), "A");
}

TEST(FilterPlan, AFamilyAndAQualifierAsLiteralsAreANewestRead) {
  const FilterPlan literal = plan(chain({leaf(K::family_regex, "f"), leaf(K::qualifier_regex, "q"),
                                         leaf(K::cells_per_column, {}, 1)}));
  ASSERT_TRUE(literal.filter->newest());
  const NamedColumns column = {{"f", "q"}};
  EXPECT_EQ(literal.filter->newest()->columns, column);
  EXPECT_EQ(literal.filter->newest()->versions, 1u);
  const auto is_one = [](FilterSpec spec) { return plan(std::move(spec)).filter->newest(); };
  EXPECT_FALSE(is_one(chain({leaf(K::family_regex, "f"), leaf(K::qualifier_regex, "q.")})));
  EXPECT_FALSE(is_one(chain({leaf(K::family_regex, "f"), leaf(K::cells_per_column, {}, 1)})));
  EXPECT_FALSE(is_one(chain({leaf(K::qualifier_regex, "q"), columns("f", "q", "r")})));
}

TEST(FilterPlan, TheTailBeginsWithTheFirstBranch) {
  const FilterSpec both = filter_tree(K::interleave, {leaf(K::pass), leaf(K::strip_value)});
  const FilterPlan cut =
      plan(chain({leaf(K::family_regex, "f"), both, leaf(K::cells_per_column, {}, 1)}));
  EXPECT_EQ(cut.versions, 0u);
  EXPECT_TRUE(cut.filter->in_one_family());
  EXPECT_EQ(cut.filter->tail().size(), 5u);
  EXPECT_FALSE(cut.filter->needs_row());
  const FilterSpec pass = leaf(K::pass);
  EXPECT_TRUE(plan(support::filter_condition(pass, &pass, nullptr)).filter->needs_row());
  const auto all = plan_filter(chain({times(1, 2), leaf(K::pass)}), PushDown::no);
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->filter->tail().size(), 3u);
  EXPECT_EQ(all->time_range.end_us, kMaxTimestampUs);
}

TEST(FilterPlan, BadExpressionsAreRefusedWhereverTheyStand) {
  const FilterSpec bad = leaf(K::value_regex, "[");
  const FilterSpec pass = leaf(K::pass);
  const std::vector<FilterSpec> trees = {
      bad,
      chain({leaf(K::block), bad}),
      chain({times(1, 2), times(3, 4), bad}),
      filter_tree(K::interleave, {pass, chain({pass, bad})}),
      support::filter_condition(bad, &pass, &pass),
      support::filter_condition(pass, &pass, &bad),
      leaf(K::row_regex, "("),
      leaf(K::family_regex, "f:g"),
      leaf(K::qualifier_regex, "\\"),
  };
  for (const FilterSpec& spec : trees) {
    const auto made = plan_filter(spec);
    ASSERT_FALSE(made.has_value()) << support::to_text(spec);
    EXPECT_EQ(made.error().code, Errc::invalid_argument);
  }
}

TEST(FilterPlan, NarrowsAReadOnce) {
  ReadSpec spec;
  spec.rows = RowSet::everything();
  plan(chain({leaf(K::row_regex, "b.*"), leaf(K::cells_per_column, {}, 2)})).narrow(spec);
  EXPECT_EQ(spec.versions, 2u);
  ASSERT_EQ(spec.rows.ranges().size(), 1u);
  EXPECT_EQ(spec.rows.ranges()[0].start, "b");
  EXPECT_TRUE(spec.filter);
  plan(leaf(K::block)).narrow(spec = ReadSpec());
  EXPECT_TRUE(spec.rows.ranges().empty());
}

Errc refusal(const FilterSpec& spec) {
  const auto valid = validate_filter(spec);
  return valid ? Errc::ok : valid.error().code;
}

TEST(FilterLimits, TwentyLevelsAndNoMore) {
  FilterSpec spec = leaf(K::pass);
  for (size_t level = 1; level < kMaxFilterDepth; ++level)
    spec = chain({std::move(spec), leaf(K::strip_value)});
  EXPECT_EQ(refusal(spec), Errc::ok);
  EXPECT_TRUE(plan_filter(spec).has_value());
  EXPECT_EQ(refusal(chain({spec, leaf(K::pass)})), Errc::invalid_argument);
}

TEST(FilterLimits, TwentyKibibytesAndNotOneByteMore) {
  FilterNode range = filter_leaf(K::value_range);
  range.has_start = range.has_end = true;
  range.text.assign(100, 'a');
  range.end_text.assign(kMaxFilterBytes - kFilterNodeBytes - 100, 'b');
  EXPECT_EQ(refusal(filter_of(range)), Errc::ok);
  range.end_text += 'b';
  EXPECT_EQ(refusal(filter_of(range)), Errc::invalid_argument);
  // Every node costs its share of the bound: kMaxFilterNodes fit and no more.
  std::vector<FilterSpec> leaves(kMaxFilterNodes - 1, leaf(K::pass));
  EXPECT_EQ(refusal(chain(leaves)), Errc::ok);
  leaves.push_back(leaf(K::pass));
  EXPECT_EQ(refusal(chain(leaves)), Errc::invalid_argument);
}

TEST(FilterLimits, LabelsOfOneToFifteenBytes) {
  EXPECT_EQ(refusal(leaf(K::label, std::string(kMaxLabelBytes, 'x'))), Errc::ok);
  EXPECT_EQ(refusal(leaf(K::label, std::string(kMaxLabelBytes + 1, 'x'))), Errc::invalid_argument);
  EXPECT_EQ(refusal(leaf(K::label, "")), Errc::invalid_argument);
  EXPECT_EQ(refusal(leaf(K::label, "A")), Errc::invalid_argument);
}

}  // namespace
}  // namespace cellar::engine
