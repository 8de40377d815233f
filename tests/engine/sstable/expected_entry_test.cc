// ExpectedEntry: the steps of a search that is prepared, in all forms of tables.
#include "engine/sstable/expected_entry.h"

#include <gtest/gtest.h>

#include "tests/support/table_fixture.h"

namespace cellar::engine {
namespace {

constexpr int kRows = 2000;

std::string row_name(int i) { return fmt::format("row{:05}", i); }

class ExpectedEntryTest : public testing::Test {
 protected:
  std::unique_ptr<TableReader> make(TableWriterOptions options = small_blocks()) {
    EntryMap entries;
    for (int i = 0; i < kRows; ++i) entries.insert(cell_of(row_name(i)));
    f_.write(entries, std::move(options));
    return f_.open(kBlob);
  }
  // A point read: its block is cached and has heads.
  void read(TableReader& table, const std::string& row) {
    for (int i = 0; i < 2; ++i) {
      TableIterator it(table, {.one_search = true});
      ASSERT_EQ(f_.finish(it, it.seek(row_prefix(row))), Step::ready);
    }
  }
  // Steps that were not the last.
  int steps(const TableReader& table, const std::string& row) {
    const BlockCache::Stats before = f_.cache.stats();
    const uint64_t loaded = f_.loader.stats().read_blocks;
    const std::string prefix = row_prefix(row);
    ExpectedEntry search(table, prefix, row_hash(prefix));
    int steps = 0;
    while (search.next()) ++steps;
    EXPECT_FALSE(search.next());
    EXPECT_EQ(f_.cache.stats().hits, before.hits) << "it is no request";
    EXPECT_EQ(f_.cache.stats().misses, before.misses);
    EXPECT_EQ(f_.loader.stats().read_blocks, loaded);
    return steps;
  }

  using EntryMap = std::map<std::string, std::string>;
  TableFixture f_;
};

TEST_F(ExpectedEntryTest, GoesFromTheFilterToTheEntryAsFarAsMemoryHasIt) {
  const auto table = make();
  EXPECT_EQ(steps(*table, row_name(7)), 2) << "the block is not there";
  read(*table, row_name(7));
  EXPECT_EQ(steps(*table, row_name(7)), 3);
  EXPECT_EQ(steps(*table, row_name(1000)), 2) << "a block that was not read";
  EXPECT_EQ(steps(*table, "no row"), 0) << "the filter excludes it";
  ExpectedEntry none;
  EXPECT_FALSE(none.next());
}

TEST_F(ExpectedEntryTest, EveryBlockThatWasReadIsFoundInItsSlot) {
  const auto table = make(small_blocks(4096));
  for (int i = 0; i < kRows; ++i) read(*table, row_name(i));
  for (int i = 0; i < kRows; ++i) ASSERT_EQ(steps(*table, row_name(i)), 3) << i;
}

TEST_F(ExpectedEntryTest, AnIndexInPartsIsNotSearched) {
  TableWriterOptions options = small_blocks();
  options.part_bytes = 400;
  const auto table = make(options);
  ASSERT_NE(table->top_index(), nullptr);
  EXPECT_EQ(steps(*table, row_name(7)), 0);
}

TEST_F(ExpectedEntryTest, ALostTableHasNothingToLoad) {
  TableMeta meta = make()->meta();
  auto blob = f_.world.block_on(f_.loop, f_.store.open(kBlob));
  ASSERT_TRUE(blob);
  const auto lost =
      TableReader::lost(std::move(*blob), f_.loader, std::move(meta), Error(Errc::data_loss, "x"));
  EXPECT_EQ(steps(*lost, row_name(7)), 2);
}

// The indices that it takes are within the heads, which the standard library checks.
TEST(ExpectEntry, ChoosesAHeadOfTheBlockForAnyPrefix) {
  for (const size_t shared : {size_t{0}, size_t{3}, size_t{40}}) {
    for (int entries = 1; entries < 70; ++entries) {
      BlockWriter writer;
      std::string key(shared, 'k');
      for (int i = 0; i < entries; ++i) writer.add(key + fmt::format("{:03}", i), "value");
      const std::string contents(writer.finish());
      const BlockHeads heads = make_block_heads(contents);
      for (const char* tail : {"", "0", "035", "069x", "~"}) {
        expect_entry(contents, heads, key + tail);
        expect_entry(contents, BlockHeads(), key + tail);
      }
      expect_entry(contents, heads, "");
    }
  }
}

}  // namespace
}  // namespace cellar::engine
