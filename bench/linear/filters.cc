// Filters of the greatest depth and size, and rules of many parts.
#include "bench/linear/bed.h"
#include "engine/filter/compiled_filter.h"
#include "engine/retention/step_rule.h"
#include "tests/support/filter_model.h"

namespace cellar::support {
namespace {

FilterSpec leaf(FilterKind kind, std::string text = {}, int64_t count = 0) {
  return filter_of(filter_leaf(kind, std::move(text), count));
}

// The deepest filter: conditions, interleaves and chains in turn.
FilterSpec deepest() {
  FilterSpec spec = leaf(FilterKind::value_regex, "v.*");
  const FilterSpec odd = leaf(FilterKind::qualifier_regex, "q.*[13579]");
  FilterNode none = filter_leaf(FilterKind::value_range, "w");
  none.has_start = true;
  for (size_t level = 1; level < kMaxFilterDepth; ++level) {
    if (level % 3 == 0) {
      spec = filter_condition(filter_of(none), &odd, &spec);
    } else if (level % 3 == 1) {
      spec = filter_tree(FilterKind::interleave, {spec, filter_of(none)});
    } else {
      spec = filter_tree(FilterKind::chain, {leaf(FilterKind::cells_per_column, {}, 3), spec});
    }
  }
  return spec;
}

std::string alternation(size_t bytes) {
  std::string text = "value";
  for (size_t i = 0; text.size() + 8 <= bytes; ++i) text += fmt::format("|w{:05}x", i);
  return text;
}

}  // namespace

void filters(Figures& figures, Bed& bed) {
  const auto filled = [&bed](size_t n) {
    const std::string made = bed.table({});
    std::vector<OwnedMutation> all;
    for (size_t i = 0; i < n; ++i) all.push_back(set_cell(fmt::format("f:q{:06}", i), 1, "value"));
    bed.write(made, "row", std::move(all));
    bed.settle();
    return made;
  };
  const auto filtered = [&bed](const std::string& table, const FilterSpec& filter) {
    ReadSpec spec = everything();
    auto plan = engine::plan_filter(filter);
    CHECK(plan.has_value(), "{}", plan.error().to_string());
    plan->narrow(spec);
    return bed.read(table, spec);
  };
  const auto over_row = [&](const char* what, const FilterSpec& filter) {
    figures.figure(fmt::format("filter over a row: {}", what), 6250, [&](size_t n) {
      return [&, t = filled(n)] { CHECK(filtered(t, filter) > 0); };
    });
  };
  over_row("20 levels", deepest());
  over_row("an alternation of 20,000 bytes", leaf(FilterKind::value_regex, alternation(20'000)));
  // Over 1,000 cells, with growing filters.
  const auto of_size = [&](const char* what, size_t n,
                           const std::function<FilterSpec(size_t)>& make) {
    figures.figure(
        fmt::format("filter that grows: {}", what), n,
        [&](size_t size) {
          return [&, filter = make(size), t = filled(1000)] { CHECK(filtered(t, filter) > 0); };
        },
        false, 2);
  };
  of_size("a chain of regular expressions", 300, [](size_t n) {
    return filter_tree(FilterKind::chain,
                       std::vector<FilterSpec>(n, leaf(FilterKind::value_regex, "v.*")));
  });
  of_size("an interleave that gives one branch", 500, [](size_t n) {
    FilterNode none = filter_leaf(FilterKind::value_range, "w");
    none.has_start = true;
    std::vector<FilterSpec> parts(n - 2, filter_of(none));
    parts.push_back(leaf(FilterKind::pass));
    return filter_tree(FilterKind::interleave, parts);
  });
  of_size("a chain of conditions", 200, [](size_t n) {
    FilterNode none = filter_leaf(FilterKind::value_range, "w");
    none.has_start = true;
    const FilterSpec pass = leaf(FilterKind::pass);
    return filter_tree(
        FilterKind::chain,
        std::vector<FilterSpec>(n, filter_condition(filter_of(none), nullptr, &pass)));
  });
  of_size("bytes of an alternation", 5000,
          [](size_t n) { return leaf(FilterKind::value_regex, alternation(n)); });
  figures.figure(
      "rule compiled: parts with an age and a count", 340,
      [](size_t n) {
        std::vector<RetentionRule> parts;
        for (size_t i = 1; i <= n; ++i)
          parts.push_back(RetentionRule::intersection_of(
              {RetentionRule::max_age_us(1000 * static_cast<int64_t>(i)),
               RetentionRule::max_versions(static_cast<int64_t>(10'000 - i))}));
        return [rule = RetentionRule::union_of(parts)] {
          for (int i = 0; i < 20; ++i) CHECK(!engine::StepRule(rule).steps().empty());
        };
      },
      false, 2);
}

}  // namespace cellar::support
