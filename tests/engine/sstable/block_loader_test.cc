#include "engine/sstable/block_loader.h"

#include <gtest/gtest.h>

#include "engine/iter/merging_iterator.h"
#include "tests/support/table_fixture.h"

namespace cellar::engine {
namespace {

class BlockLoaderTest : public testing::Test {
 protected:
  BlockLoaderTest() {
    std::map<std::string, std::string> entries;
    for (int i = 0; i < 200; ++i) entries.insert(cell_of(fmt::format("row{:03}", i)));
    f.write(entries, small_blocks(200));
    reader = f.open(kBlob);
  }

  TableFixture f;
  std::unique_ptr<TableReader> reader;
};

TEST_F(BlockLoaderTest, WantsOfOneBlockShareOneRead) {
  std::vector<std::unique_ptr<TableIterator>> iterators;
  for (int i = 0; i < 5; ++i) {
    iterators.push_back(std::make_unique<TableIterator>(*reader));
    ASSERT_EQ(iterators.back()->seek(row_prefix("row050")), Step::blocked);
  }
  for (auto& it : iterators) f.waiter.load_all(*it);
  EXPECT_EQ(f.waiter.done, 0u) << "never told inside load()";
  f.world.run_until_idle();
  EXPECT_EQ(f.waiter.done, 5u);
  EXPECT_EQ(f.loader.stats().reads, 1u);
  EXPECT_EQ(f.loader.stats().joined, 4u);
  for (auto& it : iterators) ASSERT_EQ(it->resume(), Step::ready);
}

TEST_F(BlockLoaderTest, ABlockThatCameMeanwhileIsToldFromTheLoopWithoutARead) {
  TableIterator late(*reader);
  ASSERT_EQ(late.seek(row_prefix("row050")), Step::blocked);
  TableIterator early(*reader);
  ASSERT_EQ(f.finish(early, early.seek(row_prefix("row050"))), Step::ready);
  const size_t done = f.waiter.done;
  f.waiter.load_all(late);
  EXPECT_EQ(f.waiter.done, done);
  f.world.run_until_idle();
  EXPECT_TRUE(f.waiter.idle());
  EXPECT_EQ(late.resume(), Step::ready);
  EXPECT_EQ(f.loader.stats().reads, 1u);
}

TEST_F(BlockLoaderTest, ACachedBlockIsReadWithoutTheDevice) {
  TableIterator it(*reader);
  ASSERT_EQ(f.finish(it, it.seek(row_prefix("row050"))), Step::ready);
  TableIterator again(*reader);
  EXPECT_EQ(again.seek(row_prefix("row050")), Step::ready);
}

TEST_F(BlockLoaderTest, AScanReadsAheadInFewReads) {
  TableIterator it(*reader);
  size_t seen = 0;
  for (Step s = f.finish(it, it.seek("")); s == Step::ready; s = f.finish(it, it.next())) ++seen;
  EXPECT_EQ(seen, 200u);
  EXPECT_GT(reader->index().blocks(), 20u);
  EXPECT_LE(f.loader.stats().reads, 4u);
  EXPECT_EQ(f.loader.stats().read_blocks, reader->index().blocks());
}

TEST_F(BlockLoaderTest, CompactionLeavesNothingInTheCache) {
  TableIterator it(*reader, TableIteratorOptions::for_compaction());
  size_t seen = 0;
  for (Step s = f.finish(it, it.seek("")); s == Step::ready; s = f.finish(it, it.next())) ++seen;
  EXPECT_EQ(seen, 200u);
  EXPECT_EQ(f.cache.blocks(), 0u);
  EXPECT_EQ(f.loader.stats().reads, 1u);
}

TEST_F(BlockLoaderTest, AnIteratorWorksWithoutAnyCacheAtAll) {
  f.cache.set_budget(0);
  TableIterator it(*reader);
  size_t seen = 0;
  for (Step s = f.finish(it, it.seek("")); s == Step::ready; s = f.finish(it, it.next())) ++seen;
  EXPECT_EQ(seen, 200u);
  EXPECT_EQ(f.cache.blocks(), 0u);
}

// Memory for about forty of its hundred blocks unpacked, and concurrent readers.
TEST_F(BlockLoaderTest, PackedBlocksAreReadWithoutTheDeviceAndSharedWhileTheyCome) {
  reader.reset();
  std::map<std::string, std::string> entries;
  for (int i = 0; i < 200; ++i)
    entries.insert(cell_of(fmt::format("row{:03}", i), 1000, 1, std::string(1000, 'a' + i % 26)));
  f.write(entries, small_blocks(2000, BlobId{2}));
  reader = f.open(BlobId{2});
  const size_t blocks = reader->index().blocks();
  f.cache.set_budget(f.cache.charged_bytes() + blocks * 2400 * 4 / 10);
  const auto read_all = [&] {
    for (int i = 0; i < 200; ++i) {
      const std::string row = row_prefix(fmt::format("row{:03}", i));
      TableIterator one(*reader);
      TableIterator two(*reader);
      Step step = one.seek(row);
      Step other = two.seek(row);
      if (other == Step::blocked) f.waiter.load_all(two);
      step = f.finish(one, step);
      if (other == Step::blocked) other = two.resume();
      ASSERT_EQ(step, Step::ready);
      ASSERT_EQ(other, Step::ready);
      EXPECT_EQ(one.value(), entries.at(std::string(one.key())));
      EXPECT_EQ(two.value(), one.value());
    }
  };
  read_all();
  EXPECT_LE(f.loader.stats().reads, blocks + 1);
  read_all();
  const uint64_t before = f.loader.stats().reads;
  read_all();
  EXPECT_EQ(f.loader.stats().reads, before) << "they fit packed";
  EXPECT_GT(f.cache.stats().packed_hits, 0u);
}

TEST_F(BlockLoaderTest, TablesUnderAMergeAreReadTogether) {
  std::map<std::string, std::string> entries;
  entries.insert(cell_of("row050", 2000, 2));
  f.write(entries, small_blocks(200, BlobId{2}));
  const auto other = f.open(BlobId{2});
  MergingIterator merge;
  merge.add(std::make_unique<TableIterator>(*other));
  merge.add(std::make_unique<TableIterator>(*reader));
  ASSERT_EQ(merge.seek(row_prefix("row050")), Step::blocked);
  f.waiter.load_all(merge);
  EXPECT_EQ(f.loader.stats().reads, 2u);
  f.world.run_until_idle();
  EXPECT_EQ(merge.resume(), Step::ready);
}

}  // namespace
}  // namespace cellar::engine
