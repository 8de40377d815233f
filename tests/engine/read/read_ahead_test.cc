// Read-ahead of a scan: the size of the reads, their overlap with the work, and the bytes read in
// vain when a scan ends early.
#include "engine/sstable/read_ahead.h"

#include <gtest/gtest.h>

#include "tests/support/table_fixture.h"

namespace cellar::engine {
namespace {

class ReadAhead : public testing::Test {
 protected:
  static constexpr int kRows = 30'000;
  static constexpr size_t kBoundBytes = TableIteratorOptions().read_ahead_bytes;

  ReadAhead() {
    std::map<std::string, std::string> entries;
    Random random(1);
    for (int i = 0; i < kRows; ++i) {
      std::string value(20, ' ');
      for (char& c : value) c = static_cast<char>(random.below(256));
      entries.insert(cell_of(row(i), 1000, 1, value));
    }
    f.write(entries, small_blocks(1024));
    reader = f.open(kBlob);
  }
  static std::string row(int i) { return fmt::format("row{:06}", i); }

  uint64_t data_bytes() const {
    uint64_t sum = 0;
    for (size_t i = 0; i < index().blocks(); ++i) sum += index().handle(i).size;
    return sum;
  }
  const TableIndex& index() const { return reader->index(); }
  const BlockLoader::Stats& stats() const { return f.loader.stats(); }
  // Advances by at most `rows` rows; returns how often it had to wait.
  size_t walk(TableIterator& it, int rows, Step step) {
    size_t waits = 0;
    while (true) {
      while (step == Step::blocked) {
        ++waits;
        step = f.finish(it, step);
      }
      if (step != Step::ready || rows-- == 0) return waits;
      step = it.next();
    }
  }

  TableFixture f;
  std::unique_ptr<TableReader> reader;
};

TEST_F(ReadAhead, AScanReadsEveryByteOnceInReadsThatDouble) {
  TableIterator it(*reader);
  walk(it, kRows, it.seek(""));
  EXPECT_EQ(stats().read_blocks, index().blocks());
  EXPECT_EQ(stats().read_bytes, data_bytes());
  // One block, 16, 32 and 64 KiB, and from then on the largest read.
  const uint64_t large = data_bytes() / kBoundBytes;
  ASSERT_GT(large, 5u);
  EXPECT_GE(stats().reads, large);
  EXPECT_LE(stats().reads, large + 6);
}

TEST_F(ReadAhead, TheNextReadIsUnderWayWhileEntriesAreLookedAt) {
  TableIterator it(*reader);
  f.finish(it, it.seek(""));
  Step step = Step::ready;
  while (stats().read_bytes < 60'000) step = f.finish(it, it.next());
  ASSERT_EQ(step, Step::ready);
  // In the middle of what has been read, while the device is busy.
  const uint64_t reads = stats().reads;
  size_t waits = 0;
  while (stats().reads < reads + 4) {
    step = it.next();
    // The device is as fast as the scan: the read in progress has completed when it is needed.
    f.world.run_until_idle();
    if (step == Step::blocked) {
      ++waits;
      step = f.finish(it, step);
    }
    ASSERT_EQ(step, Step::ready);
  }
  EXPECT_EQ(waits, 0u);
}

TEST_F(ReadAhead, AnIteratorThatIsFasterThanTheDeviceWaitsForWhatIsUnderWay) {
  TableIterator it(*reader);
  const size_t waits = walk(it, kRows, it.seek(""));
  EXPECT_EQ(waits, stats().reads) << "one wait for each read, and none asked for twice";
  EXPECT_EQ(stats().joined, 0u);
}

TEST_F(ReadAhead, AScanThatEndsEarlyHasReadLittleInVain) {
  for (const int rows : {1, 10, 100, 1000, 5000}) {
    f.cache.set_budget(0);
    const uint64_t before = stats().read_bytes;
    uint64_t used = 0;
    {
      TableIterator it(*reader);
      walk(it, rows, it.seek(row(7000)));
      for (size_t i = index().find(row(7000)); i <= index().find(it.key()); ++i) {
        used += index().handle(i).size;
      }
    }
    f.world.run_until_idle();
    const uint64_t read = stats().read_bytes - before;
    if (rows <= 10) {
      EXPECT_LE(read, used + TableIterator::kFirstAheadBytes) << rows;
    }
    // Each read doubled the size of the previous one, and one more read overlaps.
    EXPECT_LE(read, 7 * used + TableIterator::kFirstAheadBytes) << rows;
    EXPECT_LE(read, used + 2 * kBoundBytes) << rows;
  }
}

TEST_F(ReadAhead, NothingIsReadBehindWhatIsWanted) {
  const size_t last = index().blocks() / 2;
  ReadWindow window;
  window.set(index().separator(last + 1), {});
  TableIteratorOptions options;
  options.window = &window;
  TableIterator it(*reader, options);
  walk(it, kRows, it.seek(""));
  EXPECT_TRUE(window.was_left());
  EXPECT_EQ(stats().read_blocks, last + 1);
}

TEST_F(ReadAhead, ASeekBeginsAnewAndOneWithinWhatIsAheadDoesNot) {
  TableIterator it(*reader);
  walk(it, 8000, it.seek(""));
  const uint64_t reads = stats().reads;
  // A few blocks further: all of it is in memory or being read.
  std::string near(it.key());
  ASSERT_LT(index().find(near) + 3, index().blocks());
  near = std::string(index().separator(index().find(near) + 3));
  walk(it, 1, it.seek(near));
  EXPECT_LE(stats().reads, reads + 1);
  const uint64_t bytes = stats().read_bytes;
  walk(it, 1, it.seek(row(kRows - 100)));
  EXPECT_LE(stats().read_bytes - bytes, 2048u);
}

TEST_F(ReadAhead, WhatIsUnderWayOutlastsIteratorAndTable) {
  auto it = std::make_unique<TableIterator>(*reader);
  walk(*it, 2500, it->seek(""));
  const uint64_t done = f.store.reads();
  while (f.store.reads() == done) ASSERT_EQ(f.finish(*it, it->next()), Step::ready);
  // A read is in progress when the last iterator that could need it is destroyed.
  it.reset();
  reader.reset();
  // The table's blocks have left the cache with it. The read in progress completes anyway.
  const size_t cached = f.cache.blocks();
  f.world.block_on(f.loop, f.loader.idle());
  EXPECT_GT(f.cache.blocks(), cached);
}

TEST_F(ReadAhead, AFailedReadAheadIsAskedForAgainAndThenTold) {
  TableIterator it(*reader);
  walk(it, 2500, it.seek(""));
  const size_t bad = index().find(it.key()) + 300;
  f.store.fail_reads_of(index().handle(bad).offset);
  Step step = Step::ready;
  while (step == Step::ready) step = f.finish(it, it.next());
  EXPECT_EQ(step, Step::failed);
  EXPECT_NE(it.error().message.find("input/output"), std::string::npos);
  // All entries before the bad block were returned.
  TableIterator there(*reader);
  EXPECT_EQ(f.finish(there, there.seek_before(index().separator(bad))), Step::ready);
}

TEST_F(ReadAhead, LargeCellsAreReadOneByOne) {
  std::map<std::string, std::string> entries;
  for (int i = 0; i < 8; ++i) {
    entries.insert(cell_of(row(i), 1000, 1, std::string(400'000, static_cast<char>('a' + i))));
  }
  f.write(entries, small_blocks(1024, BlobId{2}));
  const auto large = f.open(BlobId{2});
  TableIterator it(*large);
  uint64_t given = 0;
  for (Step step = f.finish(it, it.seek("")); step == Step::ready; step = f.finish(it, it.next())) {
    EXPECT_EQ(stats().read_blocks, ++given) << "none is held that is not looked at";
  }
  EXPECT_EQ(given, 8u);
}

}  // namespace
}  // namespace cellar::engine
