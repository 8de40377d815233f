// Rows of many columns, and mutations of many operations.
#include "bench/linear/bed.h"
#include "io/base/random.h"

namespace cellar::support {

void columns(Figures& figures, Bed& bed) {
  const auto ops = [&bed](size_t n) {
    std::vector<OwnedMutation> all;
    for (size_t i = 0; i < n; ++i)
      all.push_back(set_cell(fmt::format("f:q{:06}", i), bed.now_us(), "value"));
    return all;
  };
  const auto filled = [&](size_t n) {
    const std::string made = bed.table(RetentionRule::max_versions(2));
    bed.write(made, "row", ops(n));
    bed.settle();
    return made;
  };
  constexpr size_t kFew = 6250;
  figures.figure(
      "columns: written in one mutation", kFew,
      [&](size_t n) {
        return [&bed, all = ops(n), t = bed.table({})] {
          bed.write(t, "row", all);
          bed.settle();
        };
      },
      true);
  for (const bool reversed : {false, true}) {
    figures.figure(
        reversed ? "columns: read by a reversed scan" : "columns: read", kFew, [&](size_t n) {
          return
              [&bed, n, reversed, t = filled(n)] { CHECK(bed.read(t, everything(reversed)) == n); };
        });
  }
  // Sets, and deletes of columns, of time ranges and of the family, mixed, on few columns.
  figures.figure(
      "one mutation of every kind of operation", kFew,
      [&](size_t n) {
        std::vector<OwnedMutation> all;
        Random random(n);
        for (size_t i = 0; i < n; ++i) {
          const std::string column = fmt::format("f:q{}", random.below(8));
          const auto at_us = static_cast<int64_t>(random.below(1'000'000));
          const uint64_t dice = random.below(10);
          if (i == n / 10) all.push_back(delete_family("f"));
          if (dice < 4) {
            all.push_back(delete_column(column, at_us, at_us + 100));
          } else {
            all.push_back(set_cell(column, at_us, "value"));
          }
        }
        all.resize(n);
        return [&bed, all, t = bed.table({})] {
          bed.write(t, "row", all);
          bed.settle();
        };
      },
      true);
  figures.figure(
      "rows: a mutation each", kFew,
      [&](size_t n) {
        return [&bed, n, t = bed.table({})] {
          for (size_t i = 0; i < n; ++i)
            bed.write(t, fmt::format("{:06}", i), {set_cell("f:q", 1, "value")});
          bed.settle();
        };
      },
      true);
}

}  // namespace cellar::support
