// ExpectedRead: it ends, and changes neither what is cached nor what is read.
#include "engine/read/expected_read.h"

#include <gtest/gtest.h>

#include "tests/support/seeds.h"
#include "tests/support/table_bed.h"

namespace cellar::support {
namespace {

using engine::ExpectedRead;

// Enough for the memtables' levels and for a table.
constexpr int kMostSteps = 16;

int steps_of(ExpectedRead& read) {
  int steps = 0;
  while (steps <= kMostSteps && read.next()) ++steps;
  EXPECT_FALSE(read.next());
  return steps;
}

TEST(ExpectedRead, RandomHistoriesAreReadTheSameAfterIt) {
  for (const uint64_t seed : test_seeds(60)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    TableBed bed(random);
    bed.use_parts(random);
    for (uint64_t i = 0, n = random.below(200); i < n; ++i) {
      if (random.one_in(30)) bed.bed.freeze();
      if (random.one_in(25)) bed.flush(random.one_in(2) ? 1 : 1u << 30);
      bed.bed.random_commit();
    }
    bed.bed.show_all();
    for (int i = 0; i < 10; ++i) {
      ReadSpec spec = bed.bed.random_spec();
      spec.rows = RowSet();
      const std::string row = bed.bed.random_row();
      spec.rows.add(KeyRange::single(row));
      const auto expected = bed.read(spec);
      const auto before = bed.cache.stats();
      const uint64_t loaded = bed.loader.stats().read_blocks;
      {
        const engine::ScanSetup setup = bed.setup(spec);
        ExpectedRead read;
        read.begin(*setup.sources, row);
        ASSERT_LE(steps_of(read), kMostSteps);
        read.begin(*setup.sources, "no row of these");
        ASSERT_LE(steps_of(read), kMostSteps);
      }
      ASSERT_EQ(bed.cache.stats().hits, before.hits);
      ASSERT_EQ(bed.cache.stats().misses, before.misses);
      ASSERT_EQ(bed.loader.stats().read_blocks, loaded);
      ASSERT_EQ(bed.read(spec), expected);
    }
  }
}

// Runs with rows b and d, and one more row each that only the run has.
void make_runs(TableBed& bed, int runs) {
  for (int run = 0; run < runs; ++run) {
    for (const std::string& row : {std::string("b"), std::string("d"), fmt::format("c{:02}", run)})
      bed.bed.mutate(row, {OwnedMutation{Mutation::Kind::set_cell, "f", "q", fmt::format("{}", run),
                                         run + 1}});
    bed.flush();
  }
}

// A row that only the oldest run has is found behind any number of newer runs: its block is looked
// at in a third step once it is cached.
TEST(ExpectedRead, ReachesTheOldestRun) {
  for (const int runs : {1, 3, static_cast<int>(ExpectedRead::kMostTables), 12}) {
    SCOPED_TRACE(runs);
    Random random(1);
    TableBed bed(random);
    make_runs(bed, runs);
    ReadSpec spec;
    spec.rows.add(KeyRange::single("c00"));
    const auto steps = [&] {
      const engine::ScanSetup setup = bed.setup(spec);
      ExpectedRead read;
      read.begin(*setup.sources, "c00");
      return steps_of(read);
    };
    EXPECT_EQ(steps(), 2) << "its block is not cached";
    for (int i = 0; i < 2; ++i) EXPECT_EQ(bed.read(spec).size(), 1u);
    EXPECT_EQ(steps(), 3);
  }
}

TEST(ExpectedRead, AsksTheTableWhoseKeysIncludeTheRow) {
  Random random(1);
  TableBed bed(random);
  make_runs(bed, 1);
  ReadSpec spec;
  spec.rows.add(KeyRange::single("b"));
  const engine::ScanSetup setup = bed.setup(spec);
  for (const auto& source : *setup.sources) {
    const auto has = [&](Bytes row) { return source->table_of(row_prefix(row)) != nullptr; };
    EXPECT_NE(source->is_run(), source->tree() != nullptr);
    EXPECT_FALSE(has("a"));
    for (const char* row : {"b", "bb", "c00", "d"}) EXPECT_EQ(has(row), source->is_run()) << row;
    EXPECT_FALSE(has("dd"));
    EXPECT_FALSE(has("e"));
  }
}

}  // namespace
}  // namespace cellar::support
