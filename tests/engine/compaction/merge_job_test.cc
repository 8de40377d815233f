// Flushes and compactions: what they keep and drop; answers do not change.
#include "engine/compaction/merge_job.h"

#include <gtest/gtest.h>

#include "tests/support/seeds.h"
#include "tests/support/table_bed.h"

namespace cellar::engine {
namespace {

using support::OwnedMutation;
using support::TableBed;
using support::to_text;

OwnedMutation set(std::string qualifier, int64_t timestamp_us, std::string value) {
  return {Mutation::Kind::set_cell, "f", std::move(qualifier), std::move(value), timestamp_us};
}
OwnedMutation delete_column(std::string qualifier, int64_t start_us = 0,
                            int64_t end_us = kMaxTimestampUs) {
  return {Mutation::Kind::delete_from_column, "f", std::move(qualifier), "", 0, start_us, end_us};
}
OwnedMutation delete_row() {
  OwnedMutation op;
  op.kind = Mutation::Kind::delete_from_row;
  return op;
}
ReadSpec everything() {
  ReadSpec spec;
  spec.rows = RowSet::everything();
  return spec;
}

class Merge : public testing::Test {
 protected:
  std::string read() { return to_text(bed_.read(everything())); }

  Random random_{1};
  TableBed bed_{random_};
};

TEST_F(Merge, AnEmptyFlushWritesNothing) {
  bed_.flush();
  EXPECT_TRUE(bed_.runs.empty());
  auto list = bed_.world.block_on(bed_.loop, bed_.store.list());
  EXPECT_TRUE(list->empty());
}

TEST_F(Merge, TheFirstFlushNeedsNoMarkers) {
  bed_.bed.mutate("a", {set("q", 1, "old")});
  bed_.bed.mutate("a", {delete_column("q"), set("q", 2, "new")});
  bed_.bed.drop_rows("x", "y");
  bed_.flush();
  EXPECT_EQ(bed_.entries_out, 1u);
  EXPECT_TRUE(bed_.runs[0][0]->range_deletes().empty());
  EXPECT_EQ(read(), "a f:q @2 = new\n");
}

TEST_F(Merge, AMarkerStaysWhileOlderRunsMayHoldWhatItCovers) {
  bed_.bed.mutate("a", {set("q", 1, "old")});
  bed_.flush();
  bed_.bed.mutate("b", {set("q", 1, "b")});
  bed_.flush();
  bed_.bed.mutate("a", {delete_column("q")});
  bed_.flush();
  bed_.compact(1, 2);
  EXPECT_EQ(bed_.entries_out, 2u);
  EXPECT_EQ(read(), "b f:q @1 = b\n");
  bed_.compact(0, 2);
  EXPECT_EQ(bed_.entries_out, 1u);
  EXPECT_EQ(read(), "b f:q @1 = b\n");
}

// The value that the dropped cell replaced lies in an older run; it must stay replaced.
TEST_F(Merge, AnOverwrittenValueDoesNotComeBackWhenItsSuccessorIsDropped) {
  bed_.bed.mutate("a", {set("q", 5, "first")});
  bed_.flush();
  bed_.bed.mutate("a", {set("q", 5, "second")});
  bed_.flush();
  bed_.bed.mutate("a", {delete_column("q", 5, 6)});
  bed_.flush();
  bed_.compact(1, 2);
  EXPECT_EQ(read(), "");
  bed_.compact(0, 2);
  EXPECT_EQ(read(), "");
  EXPECT_TRUE(bed_.runs.empty());
}

TEST_F(Merge, ARowRangeDeleteStaysUntilNothingOlderIsLeft) {
  bed_.bed.mutate("a", {set("q", 1, "a")});
  bed_.flush();
  bed_.bed.mutate("b", {set("q", 1, "b")});
  bed_.flush();
  bed_.bed.drop_rows("a", "b");
  bed_.bed.drop_rows("a", "b");
  bed_.flush();
  EXPECT_EQ(bed_.runs[2][0]->meta().entries, 0u);
  EXPECT_EQ(bed_.runs[2][0]->range_deletes().size(), 1u);  // the newest of the two
  EXPECT_EQ(read(), "b f:q @1 = b\n");
  bed_.compact(1, 2);
  EXPECT_EQ(read(), "b f:q @1 = b\n");
  bed_.compact(0, 2);
  EXPECT_EQ(read(), "b f:q @1 = b\n");
  EXPECT_TRUE(bed_.runs[0][0]->range_deletes().empty());
}

TEST_F(Merge, OutputsAreCutBetweenRowsAndDisjoint) {
  for (int i = 0; i < 200; ++i)
    bed_.bed.mutate(fmt::format("row{:03}", i / 2),
                    {set(fmt::format("q{}", i % 2), 1, std::string(100, 'v'))});
  const std::string before = read();
  bed_.flush(2000);
  ASSERT_GT(bed_.runs[0].size(), 3u);
  for (size_t i = 1; i < bed_.runs[0].size(); ++i) {
    const std::string& last = bed_.runs[0][i - 1]->meta().largest_key;
    const std::string& first = bed_.runs[0][i]->meta().smallest_key;
    EXPECT_LT(last, first);
    EXPECT_NE(last.substr(0, row_prefix_size(last)), first.substr(0, row_prefix_size(first)));
  }
  EXPECT_EQ(read(), before);
  ReadSpec reversed = everything();
  reversed.reversed = true;
  EXPECT_EQ(to_text(bed_.read(reversed)), to_text(bed_.bed.expected(reversed)));
}

TEST_F(Merge, AFailedWriteLeavesNoOutputAndNoOpenWriter) {
  for (int i = 0; i < 100; ++i)
    bed_.bed.mutate(fmt::format("row{:03}", i), {set("q", 1, std::string(200, 'v'))});
  bed_.flush();
  const std::string before = read();
  bed_.store.fail_writes_after(4000);  // of each blob
  auto result = bed_.execute(bed_.window(0, 1, 1u << 30));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::unavailable);
  EXPECT_EQ(bed_.store.open_writers(), 0u);
  EXPECT_EQ(bed_.world.block_on(bed_.loop, bed_.store.list())->size(), 1u);
  EXPECT_EQ(read(), before);
}

TEST_F(Merge, CancellingRemovesWhatWasWrittenSoFar) {
  for (int i = 0; i < 5000; ++i)
    bed_.bed.mutate(fmt::format("row{:04}", i), {set("q", 1, std::string(50, 'v'))});
  bed_.flush();
  MergeJob job(bed_.store, bed_, bed_.window(0, 1, 20'000));
  Result<std::vector<TableMeta>> result;
  bool ended = false;
  struct Run {
    static Async<void> start(MergeJob& job, Result<std::vector<TableMeta>>& result, bool& ended) {
      result = co_await job.run();
      ended = true;
    }
  };
  spawn(bed_.loop.executor(), Run::start(job, result, ended));
  ASSERT_TRUE(bed_.world.run_until([&] { return job.stats().bytes_out > 0; }));
  ASSERT_FALSE(ended);
  job.cancel();
  bed_.world.run_until_idle();
  ASSERT_TRUE(ended);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::cancelled);
  EXPECT_EQ(bed_.store.open_writers(), 0u);
  EXPECT_EQ(bed_.world.block_on(bed_.loop, bed_.store.list())->size(), 1u);
}

TEST_F(Merge, DamagedInputIsDataLossAndChangesNothing) {
  for (int i = 0; i < 100; ++i)
    bed_.bed.mutate(fmt::format("row{:03}", i), {set("q", 1, std::string(200, 'v'))});
  bed_.flush();
  bed_.store.bytes(bed_.runs[0][0]->id())[3000] ^= 1;
  auto result = bed_.execute(bed_.window(0, 1, 5000));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::data_loss);
  EXPECT_EQ(bed_.world.block_on(bed_.loop, bed_.store.list())->size(), 1u);
}

TEST_F(Merge, TimeBoundsPruneOnlyWhatCannotMatter) {
  bed_.bed.mutate("a", {set("q", 1, "1"), set("q", 50, "50")});
  bed_.flush();
  bed_.bed.mutate("a", {set("q", 2, "2")});
  bed_.flush();
  bed_.bed.mutate("a", {delete_column("q", 40, 60), set("q", 3, "3")});
  bed_.flush();
  ReadSpec spec = everything();
  spec.time_range = {30, 60};
  EXPECT_EQ(to_text(bed_.read(spec)), "");  // the delete overlaps the range, so its table is read
  spec.time_range = {0, 3};
  EXPECT_EQ(to_text(bed_.read(spec)), "a f:q @2 = 2\na f:q @1 = 1\n");
  EXPECT_TRUE((WantedTimes{{30, 60}}.excludes(bed_.runs[1][0]->meta().bounds)));
  EXPECT_FALSE((WantedTimes{{30, 60}}.excludes(bed_.runs[2][0]->meta().bounds)));
  EXPECT_TRUE((WantedTimes{{0, 3}}.excludes(bed_.runs[2][0]->meta().bounds)));
  EXPECT_FALSE((WantedTimes{{0, 3}}.excludes(TimeBounds::unknown())));
}

TEST_F(Merge, RandomHistoriesReadTheSameThroughEveryFlushAndCompaction) {
  for (const uint64_t seed : test_seeds(120)) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    TableBed bed(random, random.one_in(2) ? 2000 : 8u << 20);
    bed.use_parts(random);
    for (uint64_t i = 0, n = 20 + random.below(150); i < n; ++i) {
      const uint64_t table_bytes = random.one_in(2) ? 1u << 30 : 700;
      if (random.one_in(30)) bed.bed.freeze();
      if (random.one_in(12)) bed.flush(table_bytes);
      if (bed.runs.size() > 1 && random.one_in(15)) {
        const size_t first = random.below(bed.runs.size());
        bed.compact(first, 1 + random.below(bed.runs.size() - first), table_bytes);
      }
      bed.bed.random_commit();
      if (!random.one_in(6)) continue;
      const ReadSpec spec = bed.bed.random_spec();
      const std::string want = to_text(bed.bed.expected(spec));
      ASSERT_EQ(to_text(bed.read(spec, true)), want);
      ASSERT_EQ(to_text(bed.read(spec, false)), want);
    }
    bed.flush();
    if (!bed.runs.empty()) bed.compact(0, bed.runs.size());
    const auto want = bed.bed.expected(everything());
    ASSERT_EQ(to_text(bed.read(everything())), to_text(want));
    // Nothing dead is left at the bottom.
    if (!bed.runs.empty()) EXPECT_EQ(bed.entries_out, want.size());
  }
}

// Two merges of the same runs give the same entries: the result is deterministic.
TEST_F(Merge, ExistingTablesKeptWholeAreCopiedByteForByte) {
  bed_.bed.mutate("a", {set("q", 1, "1"), set("r", 2, "2")});
  bed_.flush();
  bed_.bed.mutate("b", {set("q", 1, "3"), delete_column("z", 4, 9)});
  bed_.bed.mutate("c", {delete_row()});
  bed_.flush();
  const auto entries = [&](const TableReader& table) {
    std::string out;
    TableIterator it(const_cast<TableReader&>(table));
    for (Step s = bed_.finish(it, it.seek("")); s == Step::ready; s = bed_.finish(it, it.next()))
      out += fmt::format("{} = {}\n", escape_bytes(it.key(), 1000), escape_bytes(it.value(), 1000));
    return out;
  };
  const std::string before = entries(*bed_.runs[1][0]);
  bed_.compact(1, 1);
  EXPECT_EQ(entries(*bed_.runs[1][0]), before);
}

}  // namespace
}  // namespace cellar::engine
