#include "engine/index/entry_sorter.h"

#include <gtest/gtest.h>

#include <map>

#include "io/base/random.h"
#include "tests/support/random_entries.h"
#include "tests/support/seeds.h"

namespace cellar::engine {
namespace {

TEST(EntrySorter, GivesEachKeyOnceInOrderAsItCameFirst) {
  for (const uint64_t seed : test_seeds(30)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    EntrySorter sorter;
    std::map<std::string, std::string> model;
    const uint64_t entries = random.one_in(5) ? random.below(3) : random.below(20'000);
    for (uint64_t i = 0; i < entries; ++i) {
      std::string key = random_segment(random, 4);
      // Some fill a chunk alone.
      if (random.one_in(2000)) key += std::string(EntrySorter::kChunkBytes, 'x');
      const std::string value = random_segment(random, 8);
      sorter.add(key, value);
      model.emplace(key, value);
    }
    EXPECT_EQ(sorter.added(), entries);
    sorter.sort();
    for (const auto& [key, value] : model) {
      ASSERT_TRUE(sorter.next());
      ASSERT_EQ(sorter.key(), key);
      ASSERT_EQ(sorter.value(), value);
    }
    EXPECT_FALSE(sorter.next());
    EXPECT_FALSE(sorter.next());
  }
}

TEST(EntrySorter, CountsItsMemory) {
  EntrySorter sorter;
  EXPECT_EQ(sorter.bytes(), 0u);
  for (int i = 0; i < 10'000; ++i) sorter.add(std::string(100, 'k'), "");
  EXPECT_GE(sorter.bytes(), 1'000'000u);
  EXPECT_LE(sorter.bytes(), 1'300'000u);
}

}  // namespace
}  // namespace cellar::engine
