// Time series under a max_age, on a simulated clock: appended data is written once, expires file by
// file without being read, and a read of a time range reads few blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/compaction/time_windows.h"
#include "engine/node.h"
#include "engine/shard_figures.h"
#include "io/sim/tracing_fs.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

constexpr int64_t kMinuteUs = 60'000'000;
constexpr int64_t kHourUs = 60 * kMinuteUs;
constexpr int64_t kDayUs = 24 * kHourUs;
constexpr int64_t kStartUs = 20'000 * kDayUs;

class TimeSeries : public testing::Test {
 protected:
  explicit TimeSeries(size_t memtable_bytes = 8u << 10) : node_(options(memtable_bytes)) {}

  TestNodeOptions options(size_t memtable_bytes) {
    TestNodeOptions options;
    options.start_wall_us = kStartUs;
    options.engine.memtable_bytes = memtable_bytes;
    options.engine.clock_permit_us = 40 * kDayUs;  // no renewals in the simulated days
    options.engine.clock_renew_us = 0;
    options.wrap = [this](std::unique_ptr<FileSystem> inner, MemDisk&, SimLoop&) {
      return std::make_unique<TracingFs>(std::move(inner), trace_);
    };
    return options;
  }
  void create(RetentionRule rule, Compaction compaction = Compaction::automatic) {
    engine::TableSpec spec;
    spec.name = "t";
    spec.granularity = Granularity::micros;
    spec.options.compaction = compaction;
    spec.options.durability = Durability::memory;
    spec.options.block_bytes = kMinBlockBytes;
    spec.families.push_back({.name = "f", .rule = std::move(rule), .undo_window_us = 0});
    ASSERT_TRUE(node_.create_table(std::move(spec)));
  }

  int64_t now_us() { return node_.world().clock().wall_us(); }
  static std::string series(int64_t i) { return fmt::format("series{:03}", i); }
  void write(const std::string& row, int64_t timestamp_us) {
    std::string value(100, '.');
    for (size_t i = 0; i < 50; ++i) {
      value[i] = static_cast<char>(' ' + node_.world().random().below(95));
    }
    ASSERT_TRUE(node_.write("t", row, {set_cell("f:q", timestamp_us, value)}));
    ++written_;
  }
  // Runs what is due now; no time passes.
  void settle() { node_.world().run_until_idle(); }
  // Writes a cell to every series, then advances the time.
  void append(int64_t series_count, int64_t step_us) {
    for (int64_t i = 0; i < series_count; ++i) write(series(i), now_us());
    node_.world().clock().advance_us(step_us);
    settle();
  }
  // Advances the time without writing.
  void pass(int64_t us) {
    const int64_t until_us = now_us() + us;
    Timer alarm(node_.loop(0).timers(), [](void*) {}, nullptr);
    alarm.arm_after_us(us);
    while (now_us() < until_us) {
      if (node_.world().run_until([&] { return now_us() >= until_us; })) break;
      // Nothing is due within the hour.
      node_.world().clock().advance_us(std::min(kHourUs, until_us - now_us()));
    }
    settle();
  }

  engine::TabletFigures figures() { return node_.figures("t").front(); }
  engine::ShardFigures shard() {
    return node_.node().engine(node_.table("t")->tablets.front().shard).shard_figures();
  }
  double write_amplification() {
    const engine::ShardFigures now = shard();
    return static_cast<double>(now.flushed_bytes + now.compacted_bytes) /
           static_cast<double>(now.flushed_bytes);
  }
  // Bytes of blocks that a read of that range takes from the device with an empty cache. (The
  // cache's misses would be too few: read-ahead blocks are never missed.)
  uint64_t bytes_touched(int64_t from_us, int64_t to_us) {
    node_.kill();
    EXPECT_TRUE(node_.reopen());
    const uint64_t before = shard().device_read_bytes;
    ReadSpec spec;
    spec.rows = RowSet::everything();
    spec.time_range = {from_us, to_us};
    EXPECT_TRUE(node_.read("t", spec));
    return shard().device_read_bytes - before;
  }
  // Of table files, by path.
  std::multiset<std::string> files_read() {
    std::multiset<std::string> paths;
    for (const std::string& line : trace_.lines) {
      if (line.starts_with("read blob/")) paths.insert(line.substr(5, line.find(' ', 5) - 5));
    }
    return paths;
  }

  Trace trace_;
  TestNode node_;
  uint64_t written_ = 0;
};

// The bounds: written at most 1.5 times, 1.2 times the live bytes on disk, and a read of a
// hundredth of the time span reads at most a fiftieth of the blocks.
TEST_F(TimeSeries, DaysOfAppendedDataAreWrittenOnceAndTakeLittleMoreThanWhatLives) {
  constexpr int64_t kSeries = 4;
  constexpr int64_t kStepsADay = 825;
  constexpr int64_t kDays = 5;
  create(RetentionRule::max_age_us(kDayUs));
  double most_space = 0;
  for (int64_t step = 0; step < kDays * kStepsADay; ++step) {
    append(kSeries, kDayUs / kStepsADay);
    if (step < 2 * kStepsADay || step % 10 != 0) continue;
    const double cell_bytes =
        static_cast<double>(shard().flushed_bytes) / static_cast<double>(written_);
    const double live = kStepsADay * kSeries * cell_bytes;
    most_space = std::max(most_space, static_cast<double>(node_.stats().table_bytes) / live);
  }
  EXPECT_EQ(figures().compaction, Compaction::time_window);
  EXPECT_GE(node_.stats().flushes, 100u * kDays) << "runs must be shorter than what is read";
  EXPECT_LE(write_amplification(), 1.5);
  EXPECT_LE(most_space, 1.2);
  EXPECT_GE(most_space, 0.9) << "the living bytes are told too high";

  ASSERT_TRUE(node_.flush("t"));
  const uint64_t all = bytes_touched(0, INT64_MAX);
  ASSERT_GE(all, 100u * 1024);
  uint64_t touched = 0;
  constexpr int64_t kReads = 20;
  for (int64_t i = 0; i < kReads; ++i) {
    const int64_t from_us = now_us() - kDayUs + i * (kDayUs / kReads);
    touched += bytes_touched(from_us, from_us + kDayUs / 100);
  }
  EXPECT_GT(touched, 0u);
  EXPECT_LE(static_cast<double>(touched) / kReads, 0.02 * static_cast<double>(all));
}

// Tables are made by the flushes of the test alone: fewer than a window merges.
class FewFlushes : public TimeSeries {
 protected:
  FewFlushes() : TimeSeries(64u << 10) {}
};

TEST_F(FewFlushes, WhatIsDeadIsDroppedWithoutReadingItsFile) {
  create(RetentionRule::max_age_us(kDayUs));
  for (int i = 0; i < 40; ++i) {
    append(20, kDayUs / 250);
    if (i % 4 == 3) ASSERT_TRUE(node_.flush("t"));
  }
  ASSERT_EQ(node_.stats().flushes, 10u);
  ASSERT_GE(node_.stats().tables_on_disk, 8u);
  trace_.with_reads = true;
  EXPECT_EQ(node_.cells("t").size(), 800u);
  EXPECT_FALSE(files_read().empty());  // so reads would be counted
  trace_.lines.clear();
  pass(2 * kDayUs);
  EXPECT_EQ(node_.stats().tables_on_disk, 0u);
  EXPECT_EQ(node_.stats().compactions, 0u);
  EXPECT_TRUE(files_read().empty());
  EXPECT_EQ(std::count_if(trace_.lines.begin(), trace_.lines.end(),
                          [](const std::string& line) {
                            return line.starts_with("remove blob/") && line.ends_with(".sst");
                          }),
            static_cast<ptrdiff_t>(node_.stats().flushes));
}

// A file that holds deletes is dropped unread too, once nothing older is left for them to cover.
TEST_F(TimeSeries, DeletesDoNotKeepDeadFilesOnDisk) {
  create(RetentionRule::max_age_us(kDayUs));
  engine::TableChange patient;  // deletes are not the subject of this test
  patient.name = "t";
  patient.options.reclaim_within_us = 3 * kDayUs;
  ASSERT_TRUE(node_.alter_table(patient));
  constexpr int kSteps = 40;
  for (int i = 0; i < kSteps; ++i) {
    append(20, kDayUs / 250);
    ASSERT_TRUE(node_.write("t", series(i % 20), {delete_column("f:q", 0, now_us() - kHourUs)}));
    if (i == 20) ASSERT_TRUE(node_.drop_rows("t", "series005", "series006"));
    if (i % 4 == 3) ASSERT_TRUE(node_.flush("t"));
  }
  trace_.with_reads = true;
  pass(3 * kDayUs);
  EXPECT_EQ(node_.stats().tables_on_disk, 0u);
  EXPECT_EQ(node_.stats().compactions, 0u);
  EXPECT_TRUE(files_read().empty());
}

// A file that masks an older live cell is merged with the older runs, and with nothing else.
TEST_F(TimeSeries, ADeadFileThatMasksSomethingIsMergedWithWhatIsOlderAlone) {
  create(RetentionRule::max_age_us(kDayUs));
  ASSERT_TRUE(node_.write("t", "a", {set_cell("f:q", now_us() + 5 * kDayUs, "far ahead")}));
  ASSERT_TRUE(node_.flush("t"));
  write("a", now_us());
  ASSERT_TRUE(node_.write("t", "a", {delete_column("f:q", now_us() + kDayUs)}));
  ASSERT_TRUE(node_.flush("t"));
  pass(kDayUs / 2);
  for (int i = 0; i < 200; ++i) write(series(i), now_us());
  ASSERT_TRUE(node_.flush("t"));
  const uint64_t living = node_.stats().table_bytes / 2;
  pass(kDayUs / 2 + kHourUs);
  EXPECT_EQ(node_.stats().compactions, 1u);
  EXPECT_LT(shard().compacted_bytes, living);
  EXPECT_EQ(node_.cells("t").size(), 200u);
}

class TinyFlushes : public TimeSeries {
 protected:
  TinyFlushes() : TimeSeries(1u << 20) {}
};

// Flushes far smaller than a memtable, so only few runs are allowed.
TEST_F(TinyFlushes, AreMergedWithinTheirWindows) {
  create(RetentionRule::max_age_us(kDayUs), Compaction::time_window);
  for (int i = 0; i < 60; ++i) {
    append(2, kDayUs / 120);
    if (i % 2 == 1) ASSERT_TRUE(node_.flush("t"));
    settle();
  }
  EXPECT_GT(node_.stats().compactions, 0u);
  EXPECT_LE(figures().runs, engine::kMaxRuns);
  EXPECT_EQ(node_.cells("t").size(), 120u);
}

TEST_F(TimeSeries, DataOutOfOrderIsTieredAndOrderBringsWindowsBack) {
  create(RetentionRule::max_age_us(kDayUs));
  pass(kDayUs);
  for (int i = 0; i < 20; ++i) {
    for (int j = 0; j < 10; ++j) {
      const auto ago_us = static_cast<int64_t>(node_.world().random().below(kDayUs));
      write(series(j), now_us() - ago_us);
    }
    ASSERT_TRUE(node_.flush("t"));
    settle();
  }
  EXPECT_EQ(figures().compaction, Compaction::tiered);
  EXPECT_LE(figures().runs, engine::kMaxRuns);
  node_.kill();
  ASSERT_TRUE(node_.reopen());
  EXPECT_EQ(figures().compaction, Compaction::tiered);
  // A day later all of it has expired.
  for (int i = 0; i < 250; ++i) append(10, kDayUs / 200);
  EXPECT_EQ(figures().compaction, Compaction::time_window);
  const uint64_t runs = figures().runs;
  node_.kill();
  ASSERT_TRUE(node_.reopen());
  settle();
  EXPECT_EQ(figures().compaction, Compaction::time_window);
  EXPECT_GE(figures().runs + 1, runs) << "a restart set off merges";
}

TEST_F(TimeSeries, AnAlterationChangesWhatIsAtWork) {
  create(RetentionRule::max_age_us(kDayUs), Compaction::time_window);
  EXPECT_EQ(figures().compaction, Compaction::time_window);
  engine::TableChange change;
  change.name = "t";
  change.options.compaction = Compaction::tiered;
  ASSERT_TRUE(node_.alter_table(change));
  EXPECT_EQ(figures().compaction, Compaction::tiered);
  change.options.compaction = Compaction::time_window;
  change.alter.push_back({.name = "f", .rule = RetentionRule{}});
  ASSERT_TRUE(node_.alter_table(change));
  EXPECT_EQ(figures().compaction, Compaction::tiered) << "nothing ages";
  EXPECT_EQ(node_.table("t")->schema.options.compaction, Compaction::time_window);
}

}  // namespace
}  // namespace cellar::support
