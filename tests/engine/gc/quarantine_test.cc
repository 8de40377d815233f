// Damaged tables: reads of the damage fail, all other reads succeed, merges leave the table, and no
// job retries in a loop.
#include <gtest/gtest.h>

#include "engine/store/blob/blob_files.h"
#include "io/sim/tracing_fs.h"
#include "tests/engine/gc/reclaim_bed.h"

namespace cellar::support {
namespace {

using engine::ReclaimFile;
using engine::ReclaimReason;
using engine::ReclaimReport;

constexpr int kRows = 200;

class Quarantine : public ReclaimBed {
 protected:
  Quarantine() : ReclaimBed(traced()) {}

  static TestNodeOptions traced() {
    trace_.lines.clear();
    trace_.with_reads = true;
    TestNodeOptions options = ReclaimBed::options();
    options.wrap = [](std::unique_ptr<FileSystem> inner, MemDisk&, SimLoop&) {
      return std::make_unique<TracingFs>(std::move(inner), trace_);
    };
    return options;
  }

  static std::string row(int i) { return fmt::format("row{:03}", i); }
  void fill(int from, int to, int64_t timestamp_us) {
    for (int i = from; i < to; ++i) {
      ASSERT_TRUE(node_.set("t", row(i), "f:q", timestamp_us, fmt::format("{:0>300}", i * 7 + 1)));
    }
    ASSERT_TRUE(node_.flush("t"));
  }
  std::vector<std::string> blobs() {
    std::vector<std::string> files;
    for (const std::string& path : node_.disk().all_files()) {
      if (path.starts_with("blob/")) files.push_back(path);
    }
    return files;
  }
  // Flips a bit of the first data block of the table and empties the caches.
  void damage(const std::string& path) {
    ASSERT_TRUE(node_.close());
    ASSERT_TRUE(node_.disk().corrupt(path, 200, 0x10));
    ASSERT_TRUE(node_.reopen());
  }
  std::optional<Errc> read_error(int i) {
    const auto cells = node_.read_row("t", row(i));
    return cells ? std::nullopt : std::optional(cells.error().code);
  }
  static size_t reads_of(const std::string& path) {
    size_t reads = 0;
    for (const std::string& line : trace_.lines) reads += line.starts_with("read " + path) ? 1 : 0;
    return reads;
  }

  static inline Trace trace_;
};

TEST_F(Quarantine, ReadsOfTheBlockFailTypedAndAllOthersGoOn) {
  create(RetentionRule{});
  fill(0, kRows, 5);
  const std::string path = blobs().front();
  damage(path);
  EXPECT_EQ(read_error(0), Errc::data_loss);
  EXPECT_EQ(read_error(0), Errc::data_loss) << "never a wrong value, however often";
  EXPECT_EQ(read_error(kRows - 1), std::nullopt);
  EXPECT_EQ(node_.read_row("t", row(kRows - 1))->front().value,
            fmt::format("{:0>300}", (kRows - 1) * 7 + 1));
  ASSERT_TRUE(node_.set("t", row(0), "f:q", 6, "new")) << "writes are taken";
  const ReclaimReport told = report();
  ASSERT_EQ(told.files.size(), 1u);
  EXPECT_EQ(told.files.front().reason, ReclaimReason::damaged);
  EXPECT_EQ(engine::blob_path(told.files.front().blob), path);
  EXPECT_FALSE(told.files.front().error.empty());
  EXPECT_EQ(told.tables.front().figures.damaged_tables, 1u);
  EXPECT_EQ(figures().damaged_tables, 1u);
}

TEST_F(Quarantine, MergesGoRoundItAndLoseNothingOfIt) {
  create(RetentionRule{});
  fill(0, kRows, 5);
  const std::string path = blobs().front();
  damage(path);
  EXPECT_EQ(read_error(0), Errc::data_loss);
  for (int run = 0; run < 40; ++run) fill(0, 20, 10 + run);
  node_.world().run_for_us(60'000'000);
  EXPECT_GT(compactions(), 0u) << "the runs beside it are merged";
  EXPECT_LT(figures().runs, 30u);
  const auto files = blobs();
  EXPECT_NE(std::find(files.begin(), files.end(), path), files.end());
  EXPECT_EQ(read_error(kRows - 1), std::nullopt) << "what can be read of it is read";
  EXPECT_EQ(node_.read_row("t", row(50))->size(), 1u);
  EXPECT_FALSE(node_.compact("t")) << "a merge of everything says why it cannot be";
  EXPECT_NE(std::find(files.begin(), files.end(), path), files.end());
}

TEST_F(Quarantine, ReclaimingDoesNotSpinOnItAndReclaimsTheRest) {
  create(RetentionRule::max_age_us(kHourUs));
  fill(0, kRows, now_us());  // in the table that becomes damaged
  const std::string path = blobs().front();
  damage(path);
  EXPECT_EQ(read_error(0), Errc::data_loss);
  // A newer table over it, wholly dead in an hour and masking older cells; and a delete, which
  // never dies.
  ASSERT_TRUE(node_.write("t", row(3), {delete_row(), set_cell("f:q", now_us(), "x")}));
  ASSERT_TRUE(node_.flush("t"));
  trace_.lines.clear();
  const uint64_t turns = node_.stats().reclaim_turns;
  pass_exactly(kHourUs + 30 * kMinuteUs);
  ASSERT_TRUE(node_.table("t"));
  EXPECT_LT(node_.stats().reclaim_turns - turns, 60u);
  EXPECT_LT(reads_of(path), 8u);
  // The damaged table was wholly dead: it is removed without being read.
  EXPECT_EQ(report().tables.front().figures.damaged_tables, 0u);
  pass(2 * kHourUs);
  EXPECT_EQ(tables(), 0u);
}

TEST_F(Quarantine, WhatOnlyAMergeWithItTakesAwaySaysSoAndTheDeadlineIsMissed) {
  create(RetentionRule{});
  fill(0, kRows, 5);
  const std::string path = blobs().front();
  damage(path);
  EXPECT_EQ(read_error(0), Errc::data_loss);
  set(row(1), 5, now_us() + kMinuteUs);  // replaces a cell of the damaged table, and dies
  ASSERT_TRUE(node_.flush("t"));
  trace_.lines.clear();
  const uint64_t turns = node_.stats().reclaim_turns;
  pass_exactly(3 * kHourUs);
  const ReclaimReport told = report();
  ASSERT_EQ(told.files.size(), 2u);
  for (const ReclaimFile& file : told.files) {
    if (file.reason == ReclaimReason::damaged) continue;
    EXPECT_EQ(file.reason, ReclaimReason::damaged);
    EXPECT_EQ(engine::blob_path(file.other), path);
  }
  EXPECT_LT(told.tables.front().missed_since_us, now_us());
  EXPECT_LT(node_.stats().reclaim_turns - turns, 60u) << "about four an hour";
  EXPECT_EQ(reads_of(path), 0u) << "nobody tries it again before the next start";
  EXPECT_EQ(read_error(kRows - 1), std::nullopt);
}

}  // namespace
}  // namespace cellar::support
