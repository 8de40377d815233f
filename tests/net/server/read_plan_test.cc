// The order in which a read visits tablets while the table is split and merged.
#include "net/server/shard/read_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "io/base/random.h"
#include "tests/support/seeds.h"

namespace cellar::server {
namespace {

using engine::TableEntry;
using engine::TabletDescriptor;

// Tablets "1", "2", ... that begin at the empty row and at each of `splits`.
TableEntry table_of(const std::vector<std::string>& splits) {
  TableEntry table;
  std::string start;
  for (size_t i = 0; i <= splits.size(); ++i) {
    const std::string end = i < splits.size() ? splits[i] : "";
    table.tablets.push_back({TabletId{i + 1}, TableId{1}, Epoch{1}, ShardId{0}, start, end});
    start = end;
  }
  return table;
}

RowSet rows_of(const std::vector<KeyRange>& ranges) {
  RowSet rows;
  for (const KeyRange& range : ranges) rows.add(range);
  rows.normalize();
  return rows;
}

// The starts of the visited tablets, in order.
std::vector<std::string> walk(const TableEntry& table, RowSet rows, bool reversed) {
  std::vector<std::string> starts;
  ReadPlan plan;
  for (plan.begin(rows, reversed); plan.more(); plan.passed()) {
    starts.push_back(plan.next(table).start);
  }
  return starts;
}

using Starts = std::vector<std::string>;

TEST(ReadPlan, VisitsEveryTabletThatHoldsRowsAndNoOther) {
  const TableEntry table = table_of({"d", "k", "p"});
  EXPECT_EQ(walk(table, RowSet::everything(), false), (Starts{"", "d", "k", "p"}));
  EXPECT_EQ(walk(table, RowSet::everything(), true), (Starts{"p", "k", "d", ""}));
  const RowSet some = rows_of({{"a", "d"}, KeyRange::single("k"), KeyRange::single("n")});
  EXPECT_EQ(walk(table, some, false), (Starts{"", "k"}));
  EXPECT_EQ(walk(table, some, true), (Starts{"k", ""}));
  const RowSet up_to_a_bound = rows_of({{"", "k"}});
  EXPECT_EQ(walk(table, up_to_a_bound, false), (Starts{"", "d"}));
  EXPECT_EQ(walk(table, up_to_a_bound, true), (Starts{"d", ""}));
  EXPECT_EQ(walk(table, rows_of({{"e", ""}}), true), (Starts{"p", "k", "d"}));
}

TEST(ReadPlan, NoRowsVisitNothing) {
  const TableEntry table = table_of({"d"});
  EXPECT_EQ(walk(table, RowSet(), false), Starts());
  EXPECT_EQ(walk(table, RowSet(), true), Starts());
}

// Random rows over a table whose tablets change after each visit: every row of the set is read
// exactly once, in order.
TEST(ReadPlan, CoversEveryRowOnceThoughTheTableIsCutAnewMeanwhile) {
  Random random(test_seeds(1).front());
  const auto key = [&random] { return std::string(1, static_cast<char>('a' + random.below(26))); };
  for (int round = 0; round < 400; ++round) {
    RowSet rows;
    for (uint64_t n = random.below(4); n > 0; --n) {
      const std::string start = random.below(5) == 0 ? "" : key();
      rows.add({start, random.below(5) == 0 ? "" : key()});
    }
    rows.normalize();
    const bool reversed = random.below(2) == 0;
    RowSet left = rows;
    std::string seen;
    ReadPlan plan;
    for (plan.begin(left, reversed); plan.more(); plan.passed()) {
      std::vector<std::string> splits;
      for (char c = 'b'; c <= 'z'; ++c) {
        if (random.below(6) == 0) splits.emplace_back(1, c);
      }
      const TableEntry table = table_of(splits);
      const TabletDescriptor& tablet = plan.next(table);
      std::string here;
      const RowSet part = left.clip(tablet.start, tablet.end);
      for (char c = 'a'; c <= 'z'; ++c) {
        for (const KeyRange& range : part.ranges()) {
          if (range.contains(Bytes(&c, 1))) here.push_back(c);
        }
      }
      if (reversed) std::reverse(here.begin(), here.end());
      seen += here;
    }
    std::string wanted;
    for (char c = 'a'; c <= 'z'; ++c) {
      for (const KeyRange& range : rows.ranges()) {
        if (range.contains(Bytes(&c, 1))) wanted.push_back(c);
      }
    }
    if (reversed) std::reverse(wanted.begin(), wanted.end());
    ASSERT_EQ(seen, wanted) << "round " << round;
  }
}

}  // namespace
}  // namespace cellar::server
