// Rows of many versions under every kind of rule, with deletes and expiries among them.
#include "bench/linear/bed.h"

namespace cellar::support {
namespace {

struct Mix {
  const char* name;
  std::function<RetentionRule(int64_t half)> rule;
  bool deletes = false;
  bool expiries = false;
};

std::vector<Mix> mixes() {
  const auto none = [](int64_t) { return RetentionRule(); };
  const auto count = [](int64_t half) { return RetentionRule::max_versions(half); };
  const auto either = [](int64_t half) {
    return RetentionRule::union_of(
        {RetentionRule::max_versions(half), RetentionRule::max_age_us(kDayUs)});
  };
  const auto both = [](int64_t half) {
    return RetentionRule::intersection_of(
        {RetentionRule::max_versions(half), RetentionRule::max_age_us(kDayUs)});
  };
  return {{"no rule", none},
          {"max_versions", count},
          {"union", either},
          {"intersection", both},
          {"no rule, time-range deletes", none, true},
          {"union, time-range deletes, expiries (exact replay)", either, true, true},
          {"intersection, deletes, expiries (exact replay)", both, true, true}};
}

void fill_versions(Bed& bed, const std::string& table, const Mix& mix, size_t n) {
  const int64_t base_us = bed.now_us() - kDayUs / 2;
  for (size_t i = 0; i < n; ++i) {
    const auto at_us = base_us + static_cast<int64_t>(i) * 10;
    OwnedMutation set = set_cell("f:q", at_us, "value");
    if (mix.expiries && i % 3 == 1) set.expire_at_us = base_us + kDayUs + static_cast<int64_t>(i);
    bed.write(table, "row", {set});
    const auto middle_us = base_us + static_cast<int64_t>(i) * 5;
    if (mix.deletes && i % 3 == 0)
      bed.write(table, "row", {delete_column("f:q", middle_us, middle_us + 3)});
  }
  bed.settle();
}

}  // namespace

void versions(Figures& figures, Bed& bed) {
  constexpr size_t kFew = 10'000;
  for (const Mix& mix : mixes()) {
    const std::string name = fmt::format("versions, {}", mix.name);
    if (!figures.wants(name)) continue;
    const auto table = [&bed, &mix](size_t n) {
      return bed.table(mix.rule(static_cast<int64_t>(n / 2)));
    };
    const auto filled = [&bed, &mix, table](size_t n) {
      const std::string made = table(n);
      fill_versions(bed, made, mix, n);
      return made;
    };
    figures.figure(
        name + ": written", kFew,
        [&](size_t n) { return [&bed, &mix, n, t = table(n)] { fill_versions(bed, t, mix, n); }; },
        true);
    for (const auto& [what, spec] : {std::pair(": all read", everything()),
                                     {": the newest read", everything(false, 1)},
                                     {": read by a reversed scan", everything(true)}}) {
      figures.figure(name + what, kFew, [&, wanted = spec](size_t n) {
        return [&bed, wanted, t = filled(n)] { CHECK(bed.read(t, wanted) > 0); };
      });
    }
    figures.figure(
        name + ": flushed and merged", kFew,
        [&](size_t n) {
          const std::string made = filled(n);
          bed.to_disk(made);
          bed.write(made, "row", {set_cell("f:q", bed.now_us(), "newest")});
          bed.settle();
          return [&bed, made] {
            bed.to_disk(made);
            bed.compact(made);
          };
        },
        true);
  }
}

}  // namespace cellar::support
