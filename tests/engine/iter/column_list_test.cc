#include "engine/iter/column_list.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "io/base/random.h"
#include "tests/support/seeds.h"

namespace cellar::engine {
namespace {

std::string cell_key(Bytes row, Bytes family, Bytes qualifier) {
  std::string key;
  append_cell(key, row, family, qualifier, 5, CommitStamp{7});
  return key;
}

void add(ColumnList& list, const std::string& key) {
  ParsedKey parsed;
  ASSERT_TRUE(parse_key(key, parsed));
  list.add_entry(parsed);
}

using Names = std::vector<std::pair<std::string, std::string>>;

Names names_of(const ColumnList& list) {
  Names names;
  list.for_each([&names](Bytes column) {
    Bytes family;
    Bytes qualifier;
    std::string scratch;
    ASSERT_TRUE(split_column(column, family, qualifier, scratch));
    names.emplace_back(family, qualifier);
  });
  return names;
}

TEST(ColumnList, HasTheColumnsOfCellsInOrder) {
  const std::string nul("a\0b", 3);
  ColumnList list;
  EXPECT_TRUE(list.empty());
  for (int round = 0; round < 2; ++round) {
    add(list, cell_key("r2", "f", "q"));
    add(list, cell_key("r1", "f", nul));
    add(list, cell_key("r1", "e", ""));
    add(list, cell_key("r1", "f", "q"));
  }
  EXPECT_EQ(names_of(list), (Names{{"e", ""}, {"f", nul}, {"f", "q"}}));
}

TEST(ColumnList, OtherEntriesAreNotListed) {
  ColumnList list;
  std::string key;
  append_row_delete(key, "r", CommitStamp{1});
  add(list, key);
  key.clear();
  append_family_delete(key, "r", "f", CommitStamp{1});
  add(list, key);
  key.clear();
  append_column_delete(key, "r", "f", "q", CommitStamp{1}, 0, 9);
  add(list, key);
  key.clear();
  append_token(key, "r", "id", CommitStamp{1});
  add(list, key);
  EXPECT_TRUE(list.empty());
}

TEST(ColumnList, IsUnknownBeyondItsBounds) {
  ColumnList list;
  for (size_t i = 0; i < ColumnList::kMostColumns; ++i)
    add(list, cell_key("r", "f", fmt::format("q{}", i)));
  EXPECT_TRUE(list.known());
  ColumnList full = list;
  add(list, cell_key("r", "f", "one more"));
  EXPECT_FALSE(list.known());
  add(list, cell_key("r", "f", "q1"));
  EXPECT_FALSE(list.known()) << "it stays unknown";
  ColumnList long_name;
  add(long_name, cell_key("r", "f", std::string(ColumnList::kMostBytes, 'x')));
  EXPECT_FALSE(long_name.known());
  full.merge(ColumnList::unknown());
  EXPECT_FALSE(full.known());
}

TEST(ColumnList, RandomListsAndTheirUnionsEqualASet) {
  for (const uint64_t seed : test_seeds(200)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    ColumnList both;
    std::set<std::pair<std::string, std::string>> of_both;
    for (int k = 0; k < 2; ++k) {
      ColumnList list;
      std::set<std::pair<std::string, std::string>> expected;
      for (uint64_t i = random.below(40); i > 0; --i) {
        const std::string family(1, static_cast<char>('a' + random.below(2)));
        const std::string qualifier(random.below(3), static_cast<char>(random.below(3)));
        add(list, cell_key("r", family, qualifier));
        expected.emplace(family, qualifier);
      }
      ASSERT_TRUE(list.known());
      EXPECT_EQ(names_of(list), Names(expected.begin(), expected.end()));
      ColumnList decoded;
      ASSERT_TRUE(decoded.decode(list.encoded()));
      EXPECT_EQ(decoded, list);
      both.merge(list);
      of_both.merge(expected);
    }
    EXPECT_EQ(names_of(both), Names(of_both.begin(), of_both.end()));
  }
}

TEST(ColumnList, DamagedBytesAreRefused) {
  ColumnList list;
  for (const char* qualifier : {"a", "b", "c"}) add(list, cell_key("r", "f", qualifier));
  const std::string good = list.encoded();
  for (size_t i = 1; i < good.size(); ++i) {
    ColumnList read;
    const size_t column_bytes = good.size() / 3;
    EXPECT_EQ(read.decode(good.substr(0, i)), i % column_bytes == 0) << i;
  }
  ColumnList read;
  EXPECT_FALSE(read.decode(good + good)) << "not ascending";
  EXPECT_FALSE(read.decode(std::string("\x03xyz")));
  EXPECT_FALSE(read.decode(std::string(ColumnList::kMostBytes + 1, 'x')));
}

}  // namespace
}  // namespace cellar::engine
