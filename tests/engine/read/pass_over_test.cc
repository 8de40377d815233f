// Blocks without an entry in the time range of a read are skipped unread; blocks that could change
// the answer are not. (merge_job_test compares the answers: random reads of random tables with and
// without skipping.)
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/support/table_fixture.h"

namespace cellar::engine {
namespace {

constexpr int kRows = 20;
constexpr int kCells = 400;  // per row: column i at time 1000 * i

class PassOver : public testing::Test {
 protected:
  PassOver() {
    for (int r = 0; r < kRows; ++r) {
      for (int i = 0; i < kCells; ++i) entries_.insert(cell(r, i));
    }
  }
  static std::string row(int r) { return fmt::format("row{:03}", r); }
  static std::string column(int i) { return fmt::format("q{:06}", i); }
  static std::pair<std::string, std::string> cell(int r, int i) {
    std::pair<std::string, std::string> entry;
    append_cell(entry.first, row(r), "f", column(i), 1000 * i, CommitStamp{1});
    append_cell_value(entry.second, "value");
    return entry;
  }
  void write() {
    f_.write(entries_, small_blocks(512));
    reader_ = f_.open(kBlob);
    ASSERT_GT(reader_->index().blocks(), 100u);
  }
  TableIterator iterator(int64_t start_us, int64_t end_us, bool newer_cells_count = false) {
    TableIteratorOptions options;
    options.times = {{start_us, end_us}, newer_cells_count};
    return TableIterator(*reader_, options);
  }
  // Keys of all entries in order, from the front.
  std::vector<std::string> keys_of(TableIterator it) {
    std::vector<std::string> keys;
    for (Step step = f_.finish(it, it.seek("")); step == Step::ready;
         step = f_.finish(it, it.next())) {
      keys.emplace_back(it.key());
    }
    return keys;
  }
  std::vector<std::string> keys_backwards(TableIterator it) {
    std::vector<std::string> keys;
    for (Step step = f_.finish(it, it.seek_before("\xff")); step == Step::ready;
         step = f_.finish(it, it.seek_before(keys.back()))) {
      keys.emplace_back(it.key());
    }
    std::reverse(keys.begin(), keys.end());
    return keys;
  }
  // The keys are columns [first, end) of every row.
  void expect_holds(const std::vector<std::string>& keys, int first, int end) {
    const std::set<std::string> found(keys.begin(), keys.end());
    for (int r = 0; r < kRows; ++r) {
      for (int i = first; i < end; ++i) EXPECT_TRUE(found.contains(cell(r, i).first)) << r << i;
    }
    EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  }
  double read_share() const {
    return static_cast<double>(f_.loader.stats().read_blocks) /
           static_cast<double>(reader_->index().blocks());
  }

  TableFixture f_;
  std::map<std::string, std::string> entries_;
  std::unique_ptr<TableReader> reader_;
};

TEST_F(PassOver, AStretchOfTimeReadsTheBlocksThatHaveItAndNoMore) {
  write();
  const auto keys = keys_of(iterator(100'000, 104'000));
  expect_holds(keys, 100, 104);
  EXPECT_LT(keys.size(), entries_.size() / 10);
  EXPECT_LT(read_share(), 0.1);
}

TEST_F(PassOver, BackwardsToo) {
  write();
  const auto keys = keys_backwards(iterator(100'000, 104'000));
  expect_holds(keys, 100, 104);
  EXPECT_LT(read_share(), 0.1);
}

TEST_F(PassOver, ASearchIntoABlockThatIsPassedOverFindsWhatFollows) {
  write();
  TableIterator it = iterator(100'000, 101'000);
  ASSERT_EQ(f_.finish(it, it.seek(cell(3, 5).first)), Step::ready);
  while (it.key() < cell(3, 100).first) ASSERT_EQ(f_.finish(it, it.next()), Step::ready);
  EXPECT_EQ(it.key(), cell(3, 100).first);
  EXPECT_EQ(f_.finish(it, it.seek(cell(kRows - 1, 300).first)), Step::end);
  EXPECT_EQ(f_.finish(it, it.seek_before(cell(0, 5).first)), Step::end);
}

TEST_F(PassOver, NothingMatchesNothingIsRead) {
  write();
  EXPECT_TRUE(keys_of(iterator(1'000'000, 2'000'000)).empty());
  EXPECT_TRUE(keys_backwards(iterator(1'000'000, 2'000'000)).empty());
  EXPECT_EQ(f_.loader.stats().read_blocks, 0u);
}

TEST_F(PassOver, WhereVersionsCountWhatIsNewerIsLookedAt) {
  write();
  expect_holds(keys_of(iterator(200'000, 201'000, true)), 200, kCells);
  EXPECT_LT(read_share(), 0.6);
}

TEST_F(PassOver, ADeleteThatReachesIntoTheTimeIsFound) {
  std::string all;
  append_row_delete(all, row(2), CommitStamp{7});
  std::string some;
  append_column_delete(some, row(4), "f", column(300), CommitStamp{8}, 90'000, 95'000);
  std::string others;
  append_column_delete(others, row(5), "f", column(300), CommitStamp{8}, 20'000, 25'000);
  entries_.insert({all, ""});
  entries_.insert({some, ""});
  entries_.insert({others, ""});
  write();
  const auto keys = keys_of(iterator(93'000, 94'000));
  expect_holds(keys, 93, 94);
  EXPECT_EQ(std::count(keys.begin(), keys.end(), all), 1);
  EXPECT_EQ(std::count(keys.begin(), keys.end(), some), 1);
  EXPECT_EQ(std::count(keys.begin(), keys.end(), others), 0) << "it reaches no such time";
}

}  // namespace
}  // namespace cellar::engine
