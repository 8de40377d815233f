// The slice of a table that belongs to one tablet: its bounds, its figures, its iterator; compared
// with a plain list, for slices with any bounds and moves in any order.
#include "engine/sstable/table_slice.h"

#include "io/base/random.h"
#include "tests/support/seeds.h"
#include "tests/support/table_fixture.h"

namespace cellar::engine {
namespace {

class Slice : public testing::Test, protected TableFixture {
 protected:
  // Rows 'b' to 'y', one cell each.
  std::unique_ptr<TableReader> alphabet(std::vector<RangeTombstone> ranges = {}) {
    std::map<std::string, std::string> entries;
    for (char c = 'b'; c <= 'y'; ++c) entries.insert(cell_of(std::string(1, c)));
    write(entries, small_blocks(), std::move(ranges));
    return open(kBlob);
  }
  // The rows that the slice gives, forwards.
  std::string rows(const TableSlice& slice) {
    SliceIterator it(slice);
    std::string out;
    for (Step s = finish(it, it.seek("")); s == Step::ready; s = finish(it, it.next()))
      out += it.key()[0];
    return out;
  }
};

TEST_F(Slice, OfAllRowsIsNotCutAndComparesNothing) {
  const auto table = alphabet({{"a", "z", CommitStamp{7}}});
  for (const KeyRange& rows : {KeyRange{}, KeyRange{"a", ""}, KeyRange{"", "z"}}) {
    const TableSlice slice(*table, rows);
    EXPECT_FALSE(slice.is_cut());
    EXPECT_EQ(slice.lower(), "");
    EXPECT_EQ(slice.upper(), "");
    EXPECT_EQ(slice.bytes(), table->meta().file_bytes);
    EXPECT_EQ(slice.range_deletes().size(), 1u);
    EXPECT_EQ(this->rows(slice), "bcdefghijklmnopqrstuvwxy");
  }
}

TEST_F(Slice, IsCutBelowAndAboveAndCountsItsBlocksOnly) {
  const auto table = alphabet();
  const TableSlice left(*table, {"", "m"});
  const TableSlice right(*table, {"m", ""});
  const TableSlice middle(*table, {"d", "g"});
  EXPECT_EQ(rows(left), "bcdefghijkl");
  EXPECT_EQ(rows(right), "mnopqrstuvwxy");
  EXPECT_EQ(rows(middle), "def");
  for (const TableSlice* slice : {&left, &right, &middle}) {
    EXPECT_TRUE(slice->is_cut());
    EXPECT_LT(slice->bytes(), table->meta().file_bytes);
  }
  EXPECT_LT(middle.bytes(), left.bytes());
  EXPECT_TRUE(left.ends_before(row_prefix("m")));
  EXPECT_FALSE(left.ends_before(row_prefix("l")));
  EXPECT_TRUE(right.begins_before(row_prefix("n")));
  EXPECT_FALSE(right.begins_before(row_prefix("m")));
}

TEST_F(Slice, OutsideOfTheTableHoldsNothing) {
  const auto table = alphabet({{"k", "m", CommitStamp{7}}});
  for (const KeyRange& rows : {KeyRange{"z", ""}, KeyRange{"", "b"}, KeyRange{"", "a"}}) {
    const TableSlice slice(*table, rows);
    EXPECT_TRUE(slice.empty());
    EXPECT_FALSE(slice.may_have_entries());
    EXPECT_EQ(slice.bytes(), 0u);
    EXPECT_EQ(this->rows(slice), "");
    EXPECT_TRUE(slice.range_deletes().empty());
  }
  // Rows between two rows of the table: by first and last key it may have entries, but it has none.
  const TableSlice gap(*table, {"b\x01", "c"});
  EXPECT_EQ(this->rows(gap), "");
}

TEST_F(Slice, RangeDeletesAreClippedToItsRows) {
  const auto table = alphabet({{"a", "f", CommitStamp{1}},
                               {"e", "p", CommitStamp{2}},
                               {"q", "", CommitStamp{3}},
                               {"g", "h", CommitStamp{4}}});
  const TableSlice slice(*table, {"e", "m"});
  ASSERT_EQ(slice.range_deletes().size(), 3u);
  for (const RangeTombstone& range : slice.range_deletes()) {
    EXPECT_GE(range.start, "e");
    EXPECT_LE(range.end, "m");
    EXPECT_FALSE(range.end.empty());
    EXPECT_NE(range.stamp, CommitStamp{3});
  }
  const TableSlice end(*table, {"r", ""});
  ASSERT_EQ(end.range_deletes().size(), 1u);
  EXPECT_EQ(end.range_deletes()[0], (RangeTombstone{"r", "", CommitStamp{3}}));
  // Cut only through its range deletes: all rows are inside.
  const TableSlice ranges_only(*table, {"a\x01", ""});
  EXPECT_TRUE(ranges_only.is_cut());
  EXPECT_EQ(ranges_only.range_deletes().size(), 4u);
  EXPECT_EQ(rows(ranges_only), "bcdefghijklmnopqrstuvwxy");
  // A table of range deletes only has no entry in any slice, and is not empty.
  TableWriterOptions options = small_blocks(256, BlobId{0x500001a});
  write({}, options, {{"c", "k", CommitStamp{9}}});
  const auto deletes = open(options.blob);
  const TableSlice part(*deletes, {"d", "e"});
  EXPECT_FALSE(part.may_have_entries());
  EXPECT_FALSE(part.empty());
  EXPECT_EQ(part.range_deletes()[0], (RangeTombstone{"d", "e", CommitStamp{9}}));
}

TEST_F(Slice, AnyMovesInAnySliceEqualThoseOfAList) {
  for (const uint64_t seed : test_seeds(20)) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    std::map<std::string, std::string> entries;
    for (int i = 0; i < 150; ++i) {
      const std::string row = fmt::format("{:03}", random.below(120));
      entries.insert(cell_of(row, static_cast<int64_t>(random.below(4)), 1 + random.below(3)));
    }
    const BlobId blob{0x600000 + seed};
    write(entries, small_blocks(200, blob));
    const auto table = open(blob);
    for (int cut = 0; cut < 12; ++cut) {
      KeyRange rows{fmt::format("{:03}", random.below(130)),
                    fmt::format("{:03}", random.below(130))};
      if (random.one_in(4)) rows.start.clear();
      if (random.one_in(4)) rows.end.clear();
      if (rows.empty()) continue;
      const TableSlice slice(*table, rows);
      std::vector<std::string> keys;
      for (const auto& [key, value] : entries) {
        const bool before = !rows.start.empty() && key < row_prefix(rows.start);
        const bool behind = !rows.end.empty() && key >= row_prefix(rows.end);
        if (!before && !behind) keys.push_back(key);
      }
      SliceIterator it(slice);
      bool placed = false;
      auto at = keys.end();
      for (int move = 0; move < 60; ++move) {
        const uint64_t dice = random.below(4);
        const std::string to = row_prefix(fmt::format("{:03}", random.below(130)));
        Step step = Step::end;
        if (dice == 0) {
          step = finish(it, it.seek(to));
          at = std::lower_bound(keys.begin(), keys.end(), to);
        } else if (dice == 1) {
          step = finish(it, it.seek_before(to));
          at = std::lower_bound(keys.begin(), keys.end(), to);
          at = at == keys.begin() ? keys.end() : std::prev(at);
        } else if (placed) {
          step = finish(it, it.next());
          ++at;
        } else {
          continue;
        }
        ASSERT_EQ(step == Step::ready, at != keys.end()) << "move " << move;
        placed = step == Step::ready;
        if (placed) ASSERT_EQ(it.key(), *at);
      }
    }
  }
}

}  // namespace
}  // namespace cellar::engine
