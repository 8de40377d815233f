// The costs that the cost model counts (bench/COST_MODEL.md).
#include "bench/linear/bed.h"
#include "io/base/random.h"

namespace cellar::support {
namespace {

constexpr size_t kCostValueBytes = 100;

// Writes rows of one cell with a key of 32 bytes, in random order, in `runs` runs.
void fill_rows(Bed& bed, const std::string& table, size_t n, size_t runs) {
  Random random(n);
  for (size_t i = 0; i < n; ++i) {
    std::string value(kCostValueBytes, 'v');
    for (size_t at = 0; at < value.size() / 2; ++at)
      value[at] = static_cast<char>(' ' + random.below(64));
    const std::string row = fmt::format("{:032}", i * 2'654'435'761 % 1'000'000'007);
    bed.write(table, row, {set_cell("f:q", 1000, value)});
    if (runs > 1 && (i + 1) % ((n + runs - 1) / runs) == 0) {
      bed.settle();
      bed.to_disk(table);
    }
  }
  bed.settle();
}

}  // namespace

void costs(Figures& figures, Bed& bed) {
  constexpr size_t kFew = 20'000;
  const auto filled = [&bed](size_t n, size_t runs) {
    const std::string made = bed.table({});
    fill_rows(bed, made, n, runs);
    return made;
  };
  figures.figure(
      "cost: rows of 32 + 100 bytes written", kFew,
      [&](size_t n) { return [&bed, n, t = bed.table({})] { fill_rows(bed, t, n, 1); }; }, true);
  figures.figure(
      "cost: those rows flushed", kFew,
      [&](size_t n) { return [&bed, t = filled(n, 1)] { bed.to_disk(t); }; }, true);
  figures.figure(
      "cost: those rows merged from 4 runs", kFew,
      [&](size_t n) {
        const std::string t = filled(n, 4);
        bed.to_disk(t);
        return [&bed, t] { bed.compact(t); };
      },
      true);
  figures.figure("cost: those rows scanned", kFew, [&](size_t n) {
    const std::string t = filled(n, 1);
    bed.to_disk(t);
    return [&bed, t, n] { CHECK(bed.read(t, everything()) == n); };
  });
  for (const size_t runs : {size_t{1}, size_t{4}}) {
    figures.figure(
        fmt::format("cost: 10,000 of those rows read, {} runs", runs), kFew, [&, runs](size_t n) {
          const std::string t = filled(n, runs);
          bed.to_disk(t);
          return [&bed, t, n] {
            for (size_t i = 0; i < 10'000; ++i) {
              ReadSpec spec;
              const size_t which = i * 7919 % n;
              spec.rows.add(
                  KeyRange::single(fmt::format("{:032}", which * 2'654'435'761 % 1'000'000'007)));
              spec.rows.normalize();
              CHECK(bed.read(t, spec) == 1);
            }
          };
        });
  }
}

}  // namespace cellar::support
