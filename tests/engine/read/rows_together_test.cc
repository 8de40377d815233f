// Device reads of multi-row reads: how many, and how many wait for one another.
#include <gtest/gtest.h>

#include "tests/support/seeds.h"
#include "tests/support/table_bed.h"

namespace cellar::engine {
namespace {

using support::CollectingSink;
using support::OwnedMutation;
using support::TableBed;
using support::to_text;

class RowsTogether : public testing::Test {
 protected:
  static constexpr int kRows = 1000;

  static std::string row(int i) { return fmt::format("row{:05}", i); }
  static ReadSpec rows_of(const std::vector<int>& numbers) {
    ReadSpec spec;
    for (const int i : numbers) spec.rows.add(KeyRange::single(row(i)));
    spec.rows.normalize();
    return spec;
  }
  static ReadSpec every(int step) {
    std::vector<int> numbers;
    for (int i = 0; i < kRows; i += step) numbers.push_back(i);
    return rows_of(numbers);
  }

  void set(int i) {
    bed_.bed.mutate(row(i), {{Mutation::Kind::set_cell, "f", "q", std::string(40, 'v'), 1}});
  }
  // One run of all rows, in blocks of about six rows.
  void fill() {
    for (int i = 0; i < kRows; ++i) set(i);
    bed_.flush();
  }
  size_t blocks() const { return bed_.runs.front().front()->blocks(); }
  uint64_t device_reads() const { return bed_.loader.stats().reads; }

  // Reads to the end; counts the round trips to the device.
  std::vector<support::OwnedCell> read(const ReadSpec& spec) {
    const auto cursor = bed_.open_scan(spec, true);
    CollectingSink sink;
    round_trips_ = 0;
    while (true) {
      const ScanStep step = cursor->run(sink);
      if (step == ScanStep::blocked) {
        ++round_trips_;
        bed_.world.block_on(bed_.loop, cursor->load());
      } else if (step != ScanStep::yielded) {
        EXPECT_EQ(step, ScanStep::done);
        return sink.cells;
      }
    }
  }

  Random random_{1};
  TableBed bed_{random_};
  size_t round_trips_ = 0;
};

TEST_F(RowsTogether, RowsThatLieApartCostOneRoundTripForEachThirtyTwo) {
  fill();
  ASSERT_GT(blocks(), 100u);
  const ReadSpec spec = every(10);  // each in its own block
  EXPECT_EQ(to_text(read(spec)), to_text(bed_.bed.expected(spec)));
  EXPECT_EQ(round_trips_, (kRows / 10 + kRowsTogether - 1) / kRowsTogether);
  EXPECT_EQ(device_reads(), kRows / 10);
  EXPECT_EQ(bed_.loader.stats().read_blocks, device_reads());
}

TEST_F(RowsTogether, ReversedToo) {
  fill();
  ReadSpec spec = every(10);
  spec.reversed = true;
  EXPECT_EQ(to_text(read(spec)), to_text(bed_.bed.expected(spec)));
  EXPECT_EQ(round_trips_, (kRows / 10 + kRowsTogether - 1) / kRowsTogether);
  EXPECT_EQ(device_reads(), kRows / 10);
}

TEST_F(RowsTogether, WhatCameAheadIsKeptWhereTheCacheKeepsNothing) {
  fill();
  bed_.cache.set_budget(0);
  const ReadSpec spec = every(10);
  EXPECT_EQ(to_text(read(spec)), to_text(bed_.bed.expected(spec)));
  EXPECT_EQ(round_trips_, (kRows / 10 + kRowsTogether - 1) / kRowsTogether);
  EXPECT_EQ(device_reads(), kRows / 10);
}

TEST_F(RowsTogether, WhereTheIndexIsInPartsItsPartsComeTogetherFirst) {
  bed_.part_bytes = 400;
  fill();
  const TopLevelIndex& top_index = *bed_.runs.front().front()->top_index();
  ASSERT_GT(top_index.parts(), 20u);
  const ReadSpec spec = every(10);
  EXPECT_EQ(to_text(read(spec)), to_text(bed_.bed.expected(spec)));
  // For each thirty-two rows the parts, then the blocks; the first row reads its part alone.
  EXPECT_LE(round_trips_, 2 * ((kRows / 10 + kRowsTogether - 1) / kRowsTogether) + 2);
  EXPECT_LE(device_reads(), kRows / 10 + top_index.parts());
  const uint64_t before = device_reads();
  read(every(20));
  EXPECT_EQ(round_trips_, 0u);
  EXPECT_EQ(device_reads(), before);
}

TEST_F(RowsTogether, PartsThatCameAheadAreKeptWhereTheCacheKeepsNothing) {
  bed_.part_bytes = 400;
  fill();
  bed_.cache.set_budget(0);
  const ReadSpec spec = every(10);
  EXPECT_EQ(to_text(read(spec)), to_text(bed_.bed.expected(spec)));
  EXPECT_LE(round_trips_, kRows / 10) << "a third of what row after row would wait";
}

TEST_F(RowsTogether, RowsInMemoryWaitForNothing) {
  fill();
  read(every(10));
  const uint64_t before = device_reads();
  read(every(20));
  EXPECT_EQ(round_trips_, 0u);
  EXPECT_EQ(device_reads(), before);
}

TEST_F(RowsTogether, ARowLimitLoadsNoMoreRowsThanItMayGive) {
  fill();
  ReadSpec spec = every(10);
  spec.row_limit = 5;
  EXPECT_EQ(read(spec).size(), 5u);
  EXPECT_EQ(round_trips_, 1u);
  EXPECT_EQ(device_reads(), 5u);
}

TEST_F(RowsTogether, LargeRowsAreHeldWithinABound) {
  for (int i = 0; i < 40; ++i) {
    bed_.bed.mutate(row(i), {{Mutation::Kind::set_cell, "f", "q", std::string(100'000, 'v'), 1}});
  }
  bed_.flush();
  const ReadSpec spec = every(1);
  EXPECT_EQ(read(spec).size(), 40u);
  // The current row and two ahead within 256 KiB; every row is read once.
  EXPECT_EQ(round_trips_, (40u + 2) / 3);
  EXPECT_EQ(device_reads(), 40u);
}

TEST_F(RowsTogether, FiltersKeepRowsFromBeingLookedForInEveryRun) {
  for (int i = 0; i < kRows; i += 2) set(i);
  bed_.flush();
  for (int i = 1; i < kRows; i += 2) set(i);
  bed_.flush();
  ASSERT_EQ(bed_.runs.size(), 2u);
  const ReadSpec spec = every(10);  // all in the first run
  EXPECT_EQ(read(spec).size(), 100u);
  // Ten bits a row have one false positive in a hundred.
  EXPECT_LE(device_reads(), 110u);
  EXPECT_LE(round_trips_, 6u);
}

TEST_F(RowsTogether, ADamagedBlockAheadFailsItsOwnRowOnly) {
  fill();
  TableReader& table = *bed_.runs.front().front();
  const size_t bad = table.index().find(row_prefix(row(50)));
  bed_.store.fail_reads_of(table.index().handle(bad).offset);
  const auto cursor = bed_.open_scan(rows_of({0, 50}), true);
  CollectingSink sink;
  ASSERT_EQ(cursor->run(sink), ScanStep::blocked);
  bed_.world.block_on(bed_.loop, cursor->load());
  ASSERT_EQ(cursor->run(sink), ScanStep::blocked);
  EXPECT_EQ(sink.cells.size(), 1u);
  bed_.world.block_on(bed_.loop, cursor->load());
  EXPECT_EQ(cursor->run(sink), ScanStep::failed);
}

// A row that ends at the end of its block is complete without reading the next block.
TEST_F(RowsTogether, EveryRowAloneCostsOneRead) {
  fill();
  bed_.cache.set_budget(0);
  for (int i = 0; i < kRows; ++i) {
    EXPECT_EQ(read(rows_of({i})).size(), 1u);
    EXPECT_EQ(round_trips_, 1u) << row(i);
  }
  EXPECT_EQ(device_reads(), static_cast<uint64_t>(kRows));
}

// From the beginning of a block to the end of the next but one.
TEST_F(RowsTogether, ARangeEndsWithoutALookAtTheBlockBehindIt) {
  fill();
  const TableIndex& index = bed_.runs.front().front()->index();
  ReadSpec spec;
  const auto first_row_of = [&index](size_t block) {
    std::string first(index.separator(block).substr(0, row(0).size()));
    first.resize(row(0).size(), '0');
    return std::stoi(first.substr(3));
  };
  spec.rows.add({.start = row(first_row_of(10)), .end = row(first_row_of(13) - 1) + '\0'});
  EXPECT_EQ(to_text(read(spec)), to_text(bed_.bed.expected(spec)));
  EXPECT_EQ(bed_.loader.stats().read_blocks, 3u);
}

// Rows and ranges of all kinds over runs of several tables, compared with the model.
TEST_F(RowsTogether, RandomRowSetsEqualTheModel) {
  for (const uint64_t seed : test_seeds(40)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    TableBed bed(random, random.one_in(3) ? 2000 : 8u << 20);
    bed.use_parts(random);
    const auto some_row = [&random] {
      std::string key = fmt::format("{:02}", random.below(60));
      if (random.one_in(6)) key += '\0';
      if (random.one_in(6)) key.resize(1);
      return key;
    };
    for (int run = 0, runs = 1 + static_cast<int>(random.below(4)); run < runs; ++run) {
      for (uint64_t i = 0, n = 1 + random.below(150); i < n; ++i) {
        std::vector<OwnedMutation> ops(1 + random.below(3));
        for (OwnedMutation& op : ops) op = bed.bed.random_op();
        bed.bed.mutate(some_row(), ops);
        if (random.one_in(60)) bed.bed.random_commit();
      }
      bed.flush(random.one_in(2) ? 600 : 1u << 20);
    }
    for (int i = 0; i < 60; ++i) {
      ReadSpec spec = bed.bed.random_spec();
      spec.rows = RowSet();
      for (uint64_t n = 1 + random.below(45); n > 0; --n) {
        const std::string start = some_row();
        const std::string end = some_row();
        spec.rows.add(random.one_in(5) && start < end ? KeyRange{start, end}
                                                      : KeyRange::single(start));
      }
      spec.rows.normalize();
      ASSERT_EQ(to_text(bed.read(spec)), to_text(bed.bed.expected(spec)));
    }
  }
}

}  // namespace
}  // namespace cellar::engine
