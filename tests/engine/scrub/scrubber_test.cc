// The scrubber of a node on simulated time: what it finds, its order, its rate and its pauses.
#include "engine/scrub/scrubber.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/store/blob/blob_files.h"
#include "io/sim/faulty_fs.h"
#include "io/sim/tracing_fs.h"
#include "tests/support/durations.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

using engine::Scrubber;
using engine::ScrubFigures;
using engine::TableCheck;
using engine::TabletFigures;

constexpr int64_t kEveryUs = 60 * kMinuteUs;
constexpr int64_t kYoungUs = kEveryUs / Scrubber::kYoungShare;
constexpr int64_t kLateUs = kEveryUs - kEveryUs / Scrubber::kLateShare;

class Scrub : public testing::Test {
 protected:
  static TestNodeOptions options(int64_t every_us = kEveryUs) {
    trace_.lines.clear();
    trace_.with_reads = true;
    faults_.clear();
    TestNodeOptions options;
    options.engine.scrub_every_us = every_us;
    options.wrap = [](std::unique_ptr<FileSystem> inner, MemDisk&, SimLoop& loop) {
      auto faulty =
          std::make_unique<FaultyFs>(loop.executor(), std::move(inner), faults_, &loop.timers());
      return std::make_unique<TracingFs>(std::move(faulty), trace_);
    };
    return options;
  }
  void start(TestNodeOptions options = Scrub::options()) {
    node_.emplace(std::move(options));
    engine::TableSpec spec;
    spec.name = "t";
    spec.granularity = Granularity::micros;
    spec.families.emplace_back().name = "f";
    ASSERT_TRUE(node_->create_table(spec));
  }
  static std::string row(int i) { return fmt::format("row{:04}", i); }
  // One more table on disk, whose rows no other one has.
  void fill(int from, int rows, size_t value_bytes = 500) {
    for (int i = from; i < from + rows; ++i) {
      std::string value(value_bytes, 'v');
      for (char& c : value) c = static_cast<char>('!' + random_.below(90));
      ASSERT_TRUE(node_->set("t", row(i), "f:q", 5, value));
    }
    ASSERT_TRUE(node_->flush("t"));
  }
  std::vector<std::string> blobs() {
    std::vector<std::string> files;
    for (const std::string& path : node_->disk().all_files()) {
      if (path.starts_with("blob/")) files.push_back(path);
    }
    return files;
  }
  uint64_t bytes_of(const std::string& path) { return node_->disk().read_all(path)->size(); }
  uint64_t all_bytes() {
    uint64_t bytes = 0;
    for (const std::string& path : blobs()) bytes += bytes_of(path);
    return bytes;
  }
  ScrubFigures scrub(uint32_t shard = 0) {
    return node_->node().engine(ShardId{shard}).shard_figures().scrub;
  }
  TabletFigures tablet() { return node_->figures("t").front(); }
  void pass(int64_t us) { node_->world().run_for_us(us); }
  int64_t now_us() { return node_->world().clock().wall_us(); }
  static size_t reads_of(const std::string& path) {
    return static_cast<size_t>(std::ranges::count_if(
        trace_.lines, [&](const std::string& line) { return line.starts_with("read " + path); }));
  }

  static inline Trace trace_;
  static inline FaultRules faults_;
  Random random_{11};
  std::optional<TestNode> node_;
};

TEST_F(Scrub, EveryTableIsReadWithinThePeriodAgainAndAgain) {
  start();
  fill(0, 40);
  fill(100, 60);
  const uint64_t bytes = all_bytes();
  const int64_t written_us = tablet().verified.since_us;
  EXPECT_NEAR(static_cast<double>(written_us), static_cast<double>(now_us()), 1e6)
      << "a new table counts from its creation";
  EXPECT_EQ(tablet().verified.bytes, tablet().bytes);
  pass(kYoungUs - kMinuteUs);
  EXPECT_EQ(scrub().read_bytes, 0u) << "young tables are left alone";
  pass(2 * kMinuteUs);
  for (uint64_t passes = 1; passes <= 3; ++passes) {
    if (passes > 1) pass(kYoungUs);
    EXPECT_EQ(scrub().read_bytes, bytes * passes) << "every byte, once a pass";
    EXPECT_EQ(scrub().verified_tables, 2 * passes);
    EXPECT_LT(now_us() - tablet().verified.since_us, kYoungUs);
  }
  EXPECT_EQ(scrub().damaged_blocks, 0u);
  EXPECT_EQ(tablet().verified.damaged, 0u);
}

// The node starts without tables: it must not wait for longer than the period before it looks
// again.
TEST_F(Scrub, AShortPeriodHoldsForTablesThatComeAfterTheStart) {
  start(options(kMinuteUs));
  fill(0, 40);
  for (int i = 0; i < 100; ++i) {
    pass(kMinuteUs / 10);
    ASSERT_LT(now_us() - tablet().verified.since_us, kMinuteUs) << i;
  }
  EXPECT_GE(scrub().verified_tables, 10u);
}

TEST_F(Scrub, RotAnywhereIsFoundInOnePassAndNamed) {
  start();
  fill(0, 60);
  const std::string path = blobs().front();
  const uint64_t size = bytes_of(path);
  size_t found = 0;
  for (uint64_t at = 7; at < size; at += size / 23) {
    ASSERT_TRUE(node_->disk().corrupt(path, at, 0x10));
    const uint64_t before = scrub().damaged_blocks;
    pass(kEveryUs);
    EXPECT_GT(scrub().damaged_blocks, before) << "byte " << at << " of " << size;
    EXPECT_EQ(scrub().damaged_tables, 1u);
    EXPECT_EQ(tablet().verified.damaged, 1u);
    ASSERT_TRUE(node_->disk().corrupt(path, at, 0x10));
    ++found;
  }
  EXPECT_GE(found, 20u);
}

TEST_F(Scrub, DamageLeavesTheTimeAndTheNodeGoesOnServing) {
  start();
  fill(0, 60);
  const std::string path = blobs().front();
  const int64_t written_us = tablet().verified.since_us;
  ASSERT_TRUE(node_->disk().corrupt(path, 200, 1));
  pass(kYoungUs + kMinuteUs);
  EXPECT_EQ(scrub().damaged_blocks, 1u);
  EXPECT_EQ(scrub().verified_tables, 0u);
  EXPECT_EQ(tablet().verified.since_us, written_us);
  EXPECT_EQ(tablet().damaged_tables, 1u) << "merges leave it, as if a read had found it";
  EXPECT_TRUE(node_->read_row("t", row(59)));
  ASSERT_TRUE(node_->set("t", row(3), "f:q", 6, "new"));
  const uint64_t read = scrub().read_bytes;
  pass(kYoungUs / 2);
  EXPECT_EQ(scrub().read_bytes, read) << "it is not read in a loop";
}

// Reads do not need the bytes on the device, and a merge gets the rows to a new table.
TEST_F(Scrub, DamageOfTheIndexIsFoundWhileAMergeCanStillSaveTheRows) {
  start();
  fill(0, 80);
  const std::string path = blobs().front();
  ASSERT_TRUE(node_->disk().corrupt(path, bytes_of(path) - 100, 1));
  ASSERT_TRUE(node_->compact("t"));
  ASSERT_EQ(blobs().front(), path) << "nothing to merge";
  pass(kYoungUs + kMinuteUs);
  EXPECT_EQ(scrub().damaged_tables, 1u);
  EXPECT_EQ(tablet().damaged_tables, 0u) << "merges may take it";
  ASSERT_TRUE(node_->compact("t"));
  EXPECT_EQ(scrub().damaged_tables, 0u);
  ASSERT_TRUE(node_->close());
  ASSERT_TRUE(node_->reopen());
  EXPECT_EQ(node_->cells("t").size(), 80u);
}

class ScrubIndex : public Scrub {
 protected:
  // 80 rows, and an index by their values.
  void start_with_index() {
    start();
    engine::IndexSpec by_value;
    by_value.name = "i";
    by_value.family = "f";
    by_value.qualifier = "q";
    by_value.parts = {cellar::IndexPart::value};
    engine::TableChange change;
    change.name = "t";
    change.add_indexes.push_back(by_value);
    ASSERT_TRUE(node_->alter_table(change));
    fill(0, 80);
  }
  // A value is in a data block and in the section, whose keys omit what they share.
  void damage_section(const std::string& path) {
    const std::string bytes = *node_->disk().read_all(path);
    const std::string value = node_->read_row("t", row(7))->front().value.substr(10, 20);
    const size_t at = bytes.rfind(value);
    ASSERT_NE(at, std::string::npos);
    ASSERT_NE(at, bytes.find(value));
    ASSERT_TRUE(node_->disk().corrupt(path, at, 1));
  }
  Result<std::vector<engine::IndexHit>> read_index() {
    IndexReadSpec spec;
    spec.index = "i";
    return node_->read_index("t", spec);
  }
  void expect_rewritten(const std::string& path) {
    const auto files = blobs();
    ASSERT_EQ(files.size(), 1u);
    EXPECT_NE(files.front(), path);
    const auto hits = read_index();
    ASSERT_TRUE(hits) << hits.error().message;
    EXPECT_EQ(hits->size(), 80u);
    EXPECT_EQ(scrub().damaged_tables, 0u);
    EXPECT_EQ(tablet().damaged_tables, 0u);
    EXPECT_EQ(node_->cells("t").size(), 80u);
  }
};

// The entries of an index are made again from the cells, at once.
TEST_F(ScrubIndex, ATableWithADamagedSectionIsRewritten) {
  start_with_index();
  const std::string path = blobs().front();
  ASSERT_EQ(read_index()->size(), 80u);
  damage_section(path);
  pass(kYoungUs + kMinuteUs);
  EXPECT_EQ(scrub().damaged_blocks, 1u);
  expect_rewritten(path);
  ASSERT_TRUE(node_->close());
  ASSERT_TRUE(node_->reopen());
  EXPECT_EQ(read_index()->size(), 80u);
}

TEST_F(ScrubIndex, AReadOfTheIndexHasItRewrittenToo) {
  start_with_index();
  const std::string path = blobs().front();
  ASSERT_TRUE(node_->close());
  ASSERT_TRUE(node_->reopen());  // nothing is cached
  damage_section(path);
  const auto hits = read_index();
  ASSERT_FALSE(hits);
  EXPECT_EQ(hits.error().code, Errc::data_loss);
  pass(kMinuteUs);
  EXPECT_EQ(scrub().damaged_blocks, 0u) << "not yet read";
  expect_rewritten(path);
}

TEST_F(Scrub, TheBlockCacheIsLeftAlone) {
  start();
  fill(0, 60);
  ASSERT_TRUE(node_->read_row("t", row(1)));
  const auto before = node_->node().engine(ShardId{0}).shard_figures();
  const size_t cached = node_->stats().cache_bytes;
  pass(kEveryUs);
  EXPECT_GT(scrub().read_bytes, 0u);
  const auto after = node_->node().engine(ShardId{0}).shard_figures();
  EXPECT_EQ(node_->stats().cache_bytes, cached);
  EXPECT_EQ(after.cache_hits, before.cache_hits);
  EXPECT_EQ(after.device_reads, before.device_reads);
  EXPECT_EQ(node_->stats().cache_bytes, cached);
  EXPECT_EQ(after.cache_evicted, before.cache_evicted);
}

TEST_F(Scrub, NeverReadsFasterThanItsRate) {
  start();
  fill(0, 500, 8000);
  ASSERT_GT(all_bytes(), 3'000'000u);
  pass(kYoungUs - kMinuteUs);
  ASSERT_EQ(scrub().read_bytes, 0u);
  int64_t began_us = 0;
  const size_t tables = blobs().size();
  for (int i = 0; i < 20'000 && scrub().verified_tables < tables; ++i) {
    pass(10'000);
    if (scrub().read_bytes == 0) began_us = now_us();
    const double passed_us =
        static_cast<double>(now_us() - began_us) + 10'000 + Scrubber::kMostCreditUs;
    ASSERT_LE(static_cast<double>(scrub().read_bytes),
              passed_us * Scrubber::kLeastRate / 1e6 + TableCheck::kPieceBytes);
  }
  EXPECT_EQ(scrub().verified_tables, tables);
  EXPECT_GT(now_us() - began_us, 2'500'000);
}

// Every round of the loop takes 20 us: it is never without work.
TEST_F(Scrub, PausesUnderLoadAndGoesOnWhenTheTimeRunsOut) {
  start();
  fill(0, 60);
  const auto busy_until = [&](int64_t until_us, auto done) {
    while (now_us() < until_us && !done()) {
      node_->world().run_until([&] {
        node_->world().clock().advance_us(20);
        return now_us() >= until_us || done();
      });
    }
  };
  const int64_t written_us = tablet().verified.since_us;
  pass(kYoungUs - kMinuteUs);
  busy_until(written_us + kLateUs - kMinuteUs, [] { return false; });
  EXPECT_EQ(scrub().read_bytes, 0u) << "it waits for better times";
  busy_until(written_us + kEveryUs, [&] { return scrub().verified_tables > 0; });
  EXPECT_EQ(scrub().verified_tables, 1u) << "and not for ever";
  EXPECT_GE(tablet().verified.since_us, written_us + kLateUs - kMinuteUs);
}

TEST_F(Scrub, AfterARestartVerifiedTablesAreNotReadAgain) {
  start();
  fill(0, 40);
  pass(kYoungUs + kMinuteUs);
  ASSERT_EQ(scrub().verified_tables, 1u);
  const std::string first = blobs().front();
  const int64_t verified_us = tablet().verified.since_us;
  for (const bool orderly : {true, false}) {
    if (orderly) {
      ASSERT_TRUE(node_->close());
    } else {
      node_->crash(CrashPolicy::none);
    }
    ASSERT_TRUE(node_->reopen());
    EXPECT_EQ(tablet().verified.since_us, verified_us);
    trace_.lines.clear();
    pass(kYoungUs / 3);
    EXPECT_EQ(reads_of(first), 0u);
    EXPECT_EQ(scrub().read_bytes, 0u);
  }
  pass(kYoungUs);
  EXPECT_EQ(scrub().verified_tables, 1u) << "the times go on where they were";
  EXPECT_GT(tablet().verified.since_us, verified_us);
}

TEST_F(Scrub, AStartAmidAPassGoesOnWithWhatIsLeft) {
  start();
  for (int i = 0; i < 4; ++i) fill(i * 100, 60, 8000);
  pass(kYoungUs - kMinuteUs);
  for (int i = 0; i < 10'000 && scrub().verified_tables < 2; ++i) pass(20'000);
  ASSERT_EQ(scrub().verified_tables, 2u);
  const uint64_t bytes = all_bytes();
  node_->kill();
  ASSERT_TRUE(node_->reopen());
  pass(5 * kMinuteUs);
  EXPECT_EQ(scrub().verified_tables, 2u);
  EXPECT_LT(scrub().read_bytes, bytes * 2 / 3);
  EXPECT_LT(now_us() - tablet().verified.since_us, kYoungUs);
}

TEST_F(Scrub, ATableThatIsReplacedMeanwhileIsGivenUpAndNotKept) {
  start();
  fill(0, 300, 8000);
  const std::string old = blobs().front();
  pass(kYoungUs - kMinuteUs);
  for (int i = 0; i < 10'000 && scrub().reading_bytes == 0; ++i) pass(20'000);
  ASSERT_GT(scrub().reading_bytes, 0u);
  fill(1000, 5);
  ASSERT_TRUE(node_->compact("t"));
  pass(2'000'000);
  const auto files = blobs();
  EXPECT_EQ(std::ranges::find(files, old), files.end()) << "the scrubber does not hold it";
  EXPECT_EQ(scrub().reading_bytes, 0u);
  EXPECT_EQ(scrub().damaged_tables, 0u);
  pass(kYoungUs + kMinuteUs);
  EXPECT_EQ(scrub().verified_tables, files.size()) << "and goes on with the next";
}

TEST_F(Scrub, AnUnreadablePlaceIsReportedAndReadAgainLater) {
  start();
  fill(0, 60);
  const std::string path = blobs().front();
  ASSERT_TRUE(faults_.add(fmt::format("read path={} error=EIO", path)));
  pass(kYoungUs + kMinuteUs);
  EXPECT_GT(scrub().failed_reads, 0u);
  EXPECT_EQ(scrub().verified_tables, 0u);
  EXPECT_EQ(scrub().damaged_tables, 1u);
  EXPECT_EQ(tablet().damaged_tables, 0u) << "it may be read another time";
  faults_.clear();
  pass(kYoungUs + kMinuteUs);
  EXPECT_EQ(scrub().verified_tables, 1u);
  EXPECT_EQ(scrub().damaged_tables, 0u);
}

TEST_F(Scrub, OffReadsNothing) {
  start(options(0));
  fill(0, 60);
  pass(10 * kEveryUs);
  EXPECT_EQ(scrub().read_bytes, 0u);
  EXPECT_EQ(tablet().verified.bytes, 0u);
  ASSERT_TRUE(node_->close());
}

TEST_F(Scrub, TabletsThatShareATableEachKnowItsTime) {
  TestNodeOptions two = options();
  two.shards = 2;
  start(std::move(two));
  fill(0, 200);
  const TabletId whole = node_->table("t")->tablets.front().id;
  const int64_t written_us = tablet().verified.since_us;
  ASSERT_TRUE(node_->split(whole, row(100)));
  ASSERT_EQ(node_->figures("t").size(), 2u);
  for (const TabletFigures& one : node_->figures("t")) EXPECT_EQ(one.verified.since_us, written_us);
  pass(kYoungUs + kMinuteUs);
  for (const TabletFigures& one : node_->figures("t")) EXPECT_GT(one.verified.since_us, written_us);
  const auto before = node_->figures("t");
  ASSERT_TRUE(node_->move(before[0].tablet.id, 1 - before[0].tablet.shard.value()));
  EXPECT_EQ(node_->figures("t")[0].verified.since_us, before[0].verified.since_us);
  ASSERT_TRUE(node_->close());
  ASSERT_TRUE(node_->reopen());
  EXPECT_EQ(node_->figures("t")[0].verified.since_us, before[0].verified.since_us);
}

TEST_F(Scrub, AStopAmidAPassIsQuick) {
  start();
  fill(0, 300, 8000);
  pass(kYoungUs - kMinuteUs);
  for (int i = 0; i < 10'000 && scrub().reading_bytes == 0; ++i) pass(20'000);
  ASSERT_GT(scrub().reading_bytes, 0u);
  const int64_t before_us = now_us();
  ASSERT_TRUE(node_->close());
  EXPECT_LT(node_->machine_clock().wall_us() - before_us, 1'000'000);
}

}  // namespace
}  // namespace cellar::support
