// Many dropped ranges, and many deletes in a column.
#include "bench/linear/bed.h"

namespace cellar::support {

void deletes(Figures& figures, Bed& bed) {
  constexpr size_t kFew = 1000;
  const auto beside = [&bed](const std::string& table, size_t n) {
    for (size_t i = 0; i < n; ++i) {
      const std::string row = fmt::format("{:06}", i);
      bed.drop(table, row + "a", row + "b");
    }
    bed.settle();
  };
  const auto rule = RetentionRule::max_versions(3);
  figures.figure(
      "dropped ranges: dropped", kFew,
      [&](size_t n) { return [&, n, t = bed.table(rule)] { beside(t, n); }; }, true);
  const auto rows = [&bed](const std::string& table, size_t n) {
    for (size_t i = 0; i < n; ++i)
      bed.write(table, fmt::format("{:06}", i), {set_cell("f:q", 1, "value")});
    bed.settle();
  };
  figures.figure("dropped ranges: as many rows beside them read", kFew, [&](size_t n) {
    const std::string t = bed.table(rule);
    rows(t, n);
    beside(t, n);
    return [&bed, t, n] { CHECK(bed.read(t, everything()) == n); };
  });
  figures.figure("dropped ranges: as many rows under all of them read", kFew, [&](size_t n) {
    const std::string t = bed.table(rule);
    rows(t, n);
    for (size_t i = 0; i < n; ++i) bed.drop(t, "", "");
    bed.settle();
    bed.write(t, "last", {set_cell("f:q", 1, "value")});
    bed.settle();
    return [&bed, t] { CHECK(bed.read(t, everything()) == 1); };
  });
  figures.figure("dropped ranges: 1,000 rows read one by one", kFew, [&](size_t n) {
    const std::string t = bed.table(rule);
    rows(t, 1000);
    beside(t, n);
    return [&bed, t] {
      for (size_t i = 0; i < 1000; ++i) {
        ReadSpec spec;
        spec.rows.add(KeyRange::single(fmt::format("{:06}", i)));
        spec.rows.normalize();
        CHECK(bed.read(t, spec) == 1);
      }
    };
  });
  figures.figure(
      "dropped ranges: flushed and merged", kFew,
      [&](size_t n) {
        const std::string t = bed.table(rule);
        rows(t, n);
        bed.to_disk(t);
        beside(t, n);
        return [&bed, t] {
          bed.to_disk(t);
          bed.compact(t);
        };
      },
      true);
  for (const bool counts : {false, true}) {
    figures.figure(
        counts ? "time-range deletes of a column that counts: read" : "time-range deletes: read",
        kFew, [&, counts](size_t n) {
          const std::string t =
              bed.table(counts ? RetentionRule::max_versions(1 << 20) : RetentionRule());
          for (size_t i = 0; i < n; ++i) {
            const auto at_us = static_cast<int64_t>(i) * 10;
            bed.write(t, "row", {set_cell("f:q", at_us + 5, "value")});
            bed.write(t, "row", {delete_column("f:q", at_us, at_us + 3)});
          }
          bed.settle();
          return [&bed, t, n] { CHECK(bed.read(t, everything()) == n); };
        });
  }
}

}  // namespace cellar::support
