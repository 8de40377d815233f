// The cost of filtering: linear in the row and in the filter, in slices, within its memory.
#include <gtest/gtest.h>

#include <ctime>

#include "engine/filter/row_filter.h"
#include "io/base/check.h"
#include "tests/support/filter_model.h"

namespace cellar::engine {
namespace {

using support::filter_leaf;
using support::filter_of;
using support::filter_tree;
using K = FilterKind;

// Processor time, which does not depend on the load of other programs.
double cpu_s() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class CountingSink final : public CellSink {
 public:
  Flow cell(const CellView& view) override {
    ++cells;
    bytes += view.value.size();
    return Flow::more;
  }
  Flow end_row(Bytes) override { return Flow::more; }
  uint64_t cells = 0;
  uint64_t bytes = 0;
};

FilterSpec one_leaf(K kind, std::string text = {}, int64_t count = 0) {
  return filter_of(filter_leaf(kind, std::move(text), count));
}

// Passes one row of that many columns through the filter; counts the steps that ended early.
struct Passage {
  uint64_t given = 0;
  uint64_t yields = 0;
  double seconds = 0;
  int64_t largest_slice = 0;
  std::optional<Error> error;
};
Passage run_row(const FilterSpec& spec, size_t columns, size_t value_bytes = 8,
                size_t max_row_bytes = kMaxFilteredRowBytes) {
  auto plan = plan_filter(spec);
  CHECK(plan.has_value(), "{}", plan.error().to_string());
  CHECK(plan->filter, "everything was pushed down");
  RowFilter filter(plan->filter, max_row_bytes);
  CountingSink sink;
  Passage run;
  const std::string value(value_bytes, 'v');
  const double begin_s = cpu_s();
  const auto finish = [&](FilterStep step, int64_t budget) {
    constexpr int64_t kSlice = 2048;
    run.largest_slice = std::max(run.largest_slice, -budget);
    while (step == FilterStep::yielded) {
      if (budget <= 0) {
        ++run.yields;
        budget = kSlice;
      }
      step = filter.go_on(sink, budget);
      run.largest_slice = std::max(run.largest_slice, -budget);
    }
    if (step == FilterStep::failed) run.error = filter.error();
    return step == FilterStep::done;
  };
  filter.begin_row("row");
  for (size_t i = 0; i < columns; ++i) {
    const std::string qualifier = fmt::format("q{:07}", i);
    if (filter.begin_column("f", qualifier) != ColumnVerdict::take) continue;
    int64_t budget = 2048;
    const CellView cell{"row", "f", qualifier, 1, value};
    if (!finish(filter.cell(cell, sink, budget), budget)) return run;
  }
  int64_t budget = 2048;
  finish(filter.end_row(sink, budget), budget);
  run.seconds = cpu_s() - begin_s;
  run.given = sink.cells;
  return run;
}

double best_of_three(const FilterSpec& spec, size_t columns) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) best = std::min(best, run_row(spec, columns).seconds);
  return best;
}

// The widest and deepest filter allowed: conditions, interleaves and chains down to the last level.
FilterSpec widest_filter() {
  FilterSpec spec = one_leaf(K::value_regex, "v*");
  const FilterSpec other = one_leaf(K::qualifier_regex, "q.*[13579]");
  const FilterSpec none = one_leaf(K::value_range, "w");
  for (size_t level = 1; level < kMaxFilterDepth; ++level) {
    FilterSpec block = none;
    block.nodes[0].has_start = true;
    switch (level % 3) {
      case 0:
        spec = support::filter_condition(block, &other, &spec);
        break;
      case 1:
        spec = filter_tree(K::interleave, {spec, block});
        break;
      default:
        spec = filter_tree(K::chain, {one_leaf(K::cells_per_column, {}, 3), spec});
    }
  }
  return spec;
}

TEST(FilterCost, IsLinearInTheRow) {
  const FilterSpec spec = widest_filter();
  ASSERT_TRUE(validate_filter(spec).has_value());
  EXPECT_EQ(run_row(spec, 1000).given, 1000u);
  const double small = best_of_three(spec, 25'000);
  const double large = best_of_three(spec, 100'000);
  EXPECT_LT(large, 8 * small) << "4 times the row took " << large / small << " times as long";
}

TEST(FilterCost, IsLinearInTheFilter) {
  const auto chain_of = [](size_t n) {
    std::vector<FilterSpec> parts(n, one_leaf(K::value_regex, "v*"));
    return filter_tree(K::interleave, {filter_tree(K::chain, parts), one_leaf(K::block)});
  };
  const auto branches_of = [](size_t n) {
    FilterNode none = filter_leaf(K::value_range, "w");
    none.has_start = true;
    std::vector<FilterSpec> parts(n, filter_of(none));
    parts.push_back(one_leaf(K::pass));
    return filter_tree(K::interleave, parts);
  };
  const auto conditions_of = [](size_t n) {
    FilterNode none = filter_leaf(K::value_range, "w");
    none.has_start = true;
    const FilterSpec pass = one_leaf(K::pass);
    std::vector<FilterSpec> parts(n, support::filter_condition(filter_of(none), nullptr, &pass));
    return filter_tree(K::chain, parts);
  };
  const auto expect_linear = [](const char* what, const FilterSpec& small,
                                const FilterSpec& large) {
    const double a = best_of_three(small, 2000);
    const double b = best_of_three(large, 2000);
    EXPECT_LT(b, 8 * a) << what << ": 4 times the filter took " << b / a << " times as long";
  };
  expect_linear("chain", chain_of(300), chain_of(1200));
  expect_linear("interleave", branches_of(500), branches_of(2000));
  expect_linear("conditions", conditions_of(200), conditions_of(800));
}

TEST(FilterCost, ASliceEndsInsideARow) {
  const FilterSpec pass = one_leaf(K::pass);
  const Passage run = run_row(support::filter_condition(pass, &pass, nullptr), 50'000);
  EXPECT_EQ(run.given, 50'000u);
  EXPECT_GT(run.yields, 50u);
  EXPECT_LT(run.largest_slice, 64);
  // A large value counts by its bytes.
  const Passage large = run_row(
      filter_tree(K::interleave, {one_leaf(K::value_regex, "w*"), one_leaf(K::value_regex, "x*")}),
      10, 1u << 20);
  EXPECT_GT(large.yields, 5u);
}

TEST(FilterCost, ARowThatNeedsTooMuchIsRefusedByName) {
  const FilterSpec pass = one_leaf(K::pass);
  const FilterSpec condition = support::filter_condition(pass, &pass, nullptr);
  EXPECT_FALSE(run_row(condition, 500, 1000, 1u << 20).error);
  const auto refused = run_row(condition, 2000, 1000, 1u << 20).error;
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->code, Errc::failed_precondition);
  EXPECT_NE(refused->message.find("'row'"), std::string::npos) << refused->message;
  // Cells that the head of the chain drops are not kept, nor are stripped values.
  EXPECT_FALSE(run_row(filter_tree(K::chain, {one_leaf(K::cells_per_row, {}, 9), condition}), 2000,
                       1000, 1u << 20)
                   .error);
  EXPECT_FALSE(
      run_row(filter_tree(K::chain, {one_leaf(K::strip_value), condition}), 2000, 1000, 1u << 20)
          .error);
}

// 2^40 copies of a cell are refused before they take memory or time.
TEST(FilterCost, CopiesAreBounded) {
  const FilterSpec twice = filter_tree(K::interleave, {one_leaf(K::pass), one_leaf(K::pass)});
  const std::vector<FilterSpec> parts(40, twice);
  const auto refused = run_row(filter_tree(K::chain, parts), 1, 8, 1u << 20).error;
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->code, Errc::failed_precondition);
  const std::vector<FilterSpec> few(10, twice);
  EXPECT_EQ(run_row(filter_tree(K::chain, few), 3).given, 3u * 1024);
}

}  // namespace
}  // namespace cellar::engine
