// TablesByKey: compared with a std::map over random changes, and what a change costs.
#include "engine/catalog/tables_by_key.h"

#include <gtest/gtest.h>

#include <map>

#include "engine/catalog/table_map.h"
#include "io/base/random.h"
#include "tests/support/seeds.h"

namespace cellar::engine {
namespace {

using Index = TablesByKey<std::string>;
using Model = std::map<std::string, const TableEntry*>;

Model contents(const Index& index) {
  Model all;
  for (const auto& [name, table] : index) {
    EXPECT_TRUE(all.empty() || all.rbegin()->first < name);
    all.emplace(name, table.get());
  }
  return all;
}

TEST(TablesByKey, RandomChangesEqualAMapAndCopiesStay) {
  for (const uint64_t seed : test_seeds(20)) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    Index index;
    Model model;
    if (random.one_in(2)) {
      std::vector<Index::Item> items;
      for (uint64_t i = 0, n = random.below(300); i < n; ++i) {
        items.emplace_back(fmt::format("k{:04}", 3 * i), std::make_shared<const TableEntry>());
        model.emplace(items.back().first, items.back().second.get());
      }
      index.fill(std::move(items));
    }
    for (int round = 0; round < 20; ++round) {
      const Index copy = index;
      const Model before = model;
      for (int i = 0; i < 40; ++i) {
        const std::string name = fmt::format("k{:04}", random.below(900));
        if (random.one_in(round % 4 == 3 ? 1 : 3)) {
          index.erase(Bytes(name));
          model.erase(name);
        } else {
          auto table = std::make_shared<const TableEntry>();
          model[name] = table.get();
          index.put(name, std::move(table));
        }
        const std::string sought = fmt::format("k{:04}", random.below(900));
        const auto found = model.find(sought);
        ASSERT_EQ(index.find(Bytes(sought)), found == model.end() ? nullptr : found->second);
      }
      ASSERT_EQ(contents(index), model);
      ASSERT_EQ(index.size(), model.size());
      ASSERT_EQ(contents(copy), before);
    }
  }
}

// By the items that a change copies: with the last index alone, no leaf but one is new.
TEST(TablesByKey, AChangeSharesAllLeavesButOne) {
  Index index;
  for (int i = 0; i < 10'000; ++i) {
    index.put(fmt::format("k{:05}", i * 7919 % 10'000), std::make_shared<const TableEntry>());
  }
  std::map<std::string, const Index::Item*> before;
  const Index copy = index;
  for (const Index::Item& item : copy) before[item.first] = &item;
  index.put("k04711", std::make_shared<const TableEntry>());
  size_t copied = 0;
  for (const Index::Item& item : index) copied += before.at(item.first) != &item;
  EXPECT_GT(copied, 0u);
  EXPECT_LE(copied, Index::kLeafItems);
}

}  // namespace
}  // namespace cellar::engine
