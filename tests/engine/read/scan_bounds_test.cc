// ScanBounds gives the same ranges as clipping a row set and encoding its ends.
#include "engine/read/scan_bounds.h"

#include <gtest/gtest.h>

#include "engine/model/key.h"
#include "io/base/random.h"
#include "tests/support/seeds.h"

namespace cellar::engine {
namespace {

std::string random_row(Random& random, size_t most) {
  std::string row;
  for (size_t n = random.below(most); n > 0; --n)
    row.push_back(random.one_in(4) ? '\0' : static_cast<char>('a' + random.below(3)));
  return row;
}

TEST(ScanBounds, AreTheRowsThatLieInTheTabletEncoded) {
  for (const uint64_t seed : test_seeds(500)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const size_t most = random.one_in(20) ? 300 : 6;
    RowSet rows;
    for (uint64_t n = random.below(4); n > 0; --n) {
      const std::string row = random_row(random, most);
      if (random.one_in(2)) {
        rows.add(KeyRange::single(row));
      } else {
        rows.add({row, random.one_in(3) ? std::string() : random_row(random, most)});
      }
    }
    rows.normalize();
    const std::string start = random.one_in(2) ? std::string() : random_row(random, most);
    const std::string end = random.one_in(2) ? std::string() : random_row(random, most);
    const RowSet clipped = rows.clip(start, end);

    const ScanBounds bounds(rows, start, end);
    ASSERT_EQ(bounds.size(), clipped.ranges().size());
    for (size_t i = 0; i < bounds.size(); ++i) {
      const KeyRange& range = clipped.ranges()[i];
      EXPECT_EQ(bounds.range(i).lower, row_prefix(range.start));
      if (range.end.empty()) {
        EXPECT_GT(bounds.range(i).upper, row_prefix(std::string(kMaxRowKeyBytes, '\xff')));
      } else {
        EXPECT_EQ(bounds.range(i).upper, row_prefix(range.end));
      }
    }
    const bool single =
        bounds.size() == 1 && clipped.ranges()[0] == KeyRange::single(clipped.ranges()[0].start);
    EXPECT_EQ(bounds.single_row(), single);
  }
}

}  // namespace
}  // namespace cellar::engine
