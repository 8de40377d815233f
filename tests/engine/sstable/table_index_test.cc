// TableIndex: finds the block that a search without heads finds.
#include "engine/sstable/table_index.h"

#include <gtest/gtest.h>

#include <set>

#include "io/base/random.h"
#include "tests/support/seeds.h"

namespace cellar::engine {
namespace {

// Keys with common prefixes longer than a head, and some others.
std::string random_long_key(Random& random, const std::string& shared) {
  std::string key = random.one_in(12) ? std::string() : shared;
  for (uint64_t n = random.below(12); n > 0; --n)
    key.push_back(static_cast<char>(random.one_in(3) ? 0xff * random.below(2) : random.below(4)));
  return key;
}

TEST(TableIndex, FindsWhatALinearSearchFinds) {
  for (const uint64_t seed : test_seeds(200)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::string shared(random.below(20), 'p');
    std::set<std::string> keys;
    const uint64_t most = random.one_in(4) ? 600 : 40;
    for (uint64_t n = random.below(most); n > 0; --n) keys.insert(random_long_key(random, shared));
    keys.erase("");
    TableIndexBuilder builder;
    std::string before;
    uint64_t end = kTableHeaderBytes;
    for (const std::string& key : keys) {
      builder.add(before, key, 100, 200, TimeBounds());
      before = key;
      end += 100;
    }
    TableIndex index;
    ASSERT_TRUE(index.open(builder.finish(), end));
    ASSERT_EQ(index.blocks(), keys.size());
    for (int probe = 0; probe < 50; ++probe) {
      const std::string key = random_long_key(random, random.one_in(3) ? shared + "\x01" : shared);
      size_t at = 0;
      size_t at_before = 0;
      for (size_t i = 1; i < index.blocks(); ++i) {
        if (index.separator(i) <= key) at = i;
        if (index.separator(i) < key) at_before = i;
      }
      index.expect(key);
      ASSERT_EQ(index.find(key), at) << escape_bytes(key);
      ASSERT_EQ(index.find_before(key), at_before) << escape_bytes(key);
    }
  }
}

// Around the borders of the groups in which the heads are searched.
TEST(TableIndex, FindsTheBlockOfEverySeparatorAndOfItsNeighbours) {
  for (const size_t blocks : {1, 2, 63, 64, 65, 127, 128, 129, 192, 193, 257}) {
    SCOPED_TRACE(blocks);
    TableIndexBuilder builder;
    std::string before;
    uint64_t end = kTableHeaderBytes;
    for (size_t i = 0; i < blocks; ++i) {
      const std::string key = fmt::format("row{:06}", 10 * i);
      builder.add(before, key, 100, 200, TimeBounds());
      before = fmt::format("row{:06}", 10 * i + 9);
      end += 100;
    }
    TableIndex index;
    ASSERT_TRUE(index.open(builder.finish(), end));
    EXPECT_EQ(index.find("a"), 0u);
    EXPECT_EQ(index.find("z"), blocks - 1);
    for (size_t i = 1; i < blocks; ++i) {
      const std::string separator(index.separator(i));
      ASSERT_EQ(index.find(separator), i);
      ASSERT_EQ(index.find(separator + '\0'), i);
      ASSERT_EQ(index.find(fmt::format("row{:06}", 10 * i - 1)), i - 1);
      ASSERT_EQ(index.find_before(separator), i - 1);
      ASSERT_EQ(index.find_before(separator + '\0'), i);
    }
  }
}

}  // namespace
}  // namespace cellar::engine
