// A scan yields in time, whatever it skips.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <vector>

#include "engine/read/scan.h"
#include "tests/support/scan_driver.h"
#include "tests/support/tablet_bed.h"

namespace cellar::engine {
namespace {

using support::OwnedMutation;
using support::TabletBed;

#ifdef CELLAR_SANITIZED
constexpr bool kSanitized = true;  // the sanitizer's time counts too
#else
constexpr bool kSanitized = false;
#endif

constexpr int64_t kMostUs = 500;  // the longest that a scan may occupy its shard

int64_t cpu_us() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000 + now.tv_nsec / 1000;
}

// Accepts as much as a chunk of a reply and pauses where a chunk would end.
class Chunks final : public CellSink {
 public:
  Flow cell(const CellView& cell) override {
    bytes_.append(cell.row).append(cell.qualifier).append(cell.value);
    ++cells;
    return bytes_.size() >= 64 * 1024 ? Flow::pause : Flow::more;
  }
  Flow end_row(Bytes /*row*/) override { return Flow::more; }
  void sent() { bytes_.clear(); }
  uint64_t cells = 0;

 private:
  std::string bytes_;
};

class Slices : public testing::Test {
 protected:
  static OwnedMutation set(int i, std::string value = "v", int64_t at_us = 1000) {
    return {Mutation::Kind::set_cell, "f", fmt::format("q{:06}", i), std::move(value), at_us};
  }
  static OwnedMutation delete_row() {
    OwnedMutation op;
    op.kind = Mutation::Kind::delete_from_row;
    return op;
  }
  static ReadSpec everything() {
    ReadSpec spec;
    spec.rows = RowSet::everything();
    return spec;
  }

  // Reads everything and checks each slice: by entries always, by time if the timing is reliable.
  void expect_short_slices(const ReadSpec& spec, uint64_t cells, const char* what) {
    const auto cursor = bed_.open(spec);
    const SystemClock clock;
    cursor->watch(clock);
    Chunks sink;
    std::vector<int64_t> took_us;
    ScanStep step = ScanStep::yielded;
    while (step != ScanStep::done) {
      const uint64_t before = cursor->entries_read();
      const int64_t began_us = cpu_us();
      step = cursor->run(sink);
      took_us.push_back(cpu_us() - began_us);
      ASSERT_NE(step, ScanStep::failed);
      ASSERT_LE(cursor->entries_read() - before, kEntriesPerSlice + 1) << what;
      if (step == ScanStep::blocked) support::load_now(*cursor);
      if (step == ScanStep::paused) sink.sent();
    }
    EXPECT_EQ(sink.cells, cells) << what;
    EXPECT_GT(took_us.size(), 10u) << what << ": too little to be sliced";
    if (kSanitized) return;
    std::sort(took_us.begin(), took_us.end());
    const int64_t p95_us = took_us[took_us.size() * 95 / 100];
    EXPECT_LE(p95_us, kMostUs) << what;
    RecordProperty("p95_us", static_cast<int>(p95_us));
    RecordProperty("longest_us", static_cast<int>(took_us.back()));
  }
  void both_ways(ReadSpec spec, uint64_t cells, const char* what) {
    expect_short_slices(spec, cells, what);
    spec.reversed = true;
    expect_short_slices(spec, cells, what);
  }

  Random random_{1};
  TabletBed bed_{random_};
};

TEST_F(Slices, OverALongStretchOfDeletedRows) {
  for (int row = 0; row < 2000; ++row) {
    std::vector<OwnedMutation> ops;
    for (int i = 0; i < 20; ++i) ops.push_back(set(i));
    bed_.mutate(fmt::format("row{:05}", row), ops);
    bed_.mutate(fmt::format("row{:05}", row), {delete_row()});
  }
  both_ways(everything(), 0, "rows deleted one by one");
}

TEST_F(Slices, OverARangeThatWasDropped) {
  for (int row = 0; row < 20'000; ++row)
    bed_.mutate(fmt::format("row{:05}", row), {set(1), set(2)});
  bed_.drop_rows("", "");
  both_ways(everything(), 0, "a range dropped");
}

TEST_F(Slices, OverWhatTheTimeRangeLeavesOut) {
  for (int row = 0; row < 20'000; ++row)
    bed_.mutate(fmt::format("row{:05}", row), {set(1), set(2)});
  ReadSpec spec = everything();
  spec.time_range = {5000, 6000};
  both_ways(spec, 0, "cells outside the time range");
}

TEST_F(Slices, OverManyVersionsOfWhichOneIsWanted) {
  for (int i = 0; i < 40'000; ++i) bed_.mutate(fmt::format("row{:03}", i % 400), {set(1, "v", i)});
  ReadSpec spec = everything();
  spec.versions = 1;
  const auto cursor = bed_.open(spec);
  Chunks sink;
  while (cursor->run(sink) != ScanStep::done) sink.sent();
  EXPECT_EQ(sink.cells, 400u);
  EXPECT_LT(cursor->entries_read(), 40'000u / 4) << "versions are stepped over one by one";
}

TEST_F(Slices, InsideAHugeRow) {
  std::vector<OwnedMutation> ops;
  for (int i = 0; i < 100'000; ++i) ops.push_back(set(i, std::string(20, 'v')));
  bed_.mutate("row", ops);
  both_ways(everything(), 100'000, "a row of 100,000 columns");
}

TEST_F(Slices, OfLargeValues) {
  for (int row = 0; row < 200; ++row) {
    bed_.mutate(fmt::format("row{:05}", row), {set(1, std::string(64 * 1024, 'v'))});
  }
  both_ways(everything(), 200, "values of 64 KiB");
}

// A clock on which every reading takes as long as a slice may.
class DearTime final : public Clock {
 public:
  int64_t wall_us() const override { return boot_us(); }
  int64_t boot_us() const override { return now_us_ += kSliceUs; }

 private:
  mutable int64_t now_us_ = 1;
};

TEST_F(Slices, OnASlowMachineEndByTime) {
  std::vector<OwnedMutation> ops;
  for (int i = 0; i < 2000; ++i) ops.push_back(set(i));
  bed_.mutate("row", ops);
  const auto cursor = bed_.open(everything());
  const DearTime clock;
  cursor->watch(clock);
  Chunks sink;
  EXPECT_EQ(cursor->run(sink), ScanStep::yielded);
  EXPECT_LE(cursor->entries_read(), 3 * static_cast<uint64_t>(kEntriesPerLook));
  EXPECT_GT(cursor->entries_read(), 0u);
}

// A sink that becomes full at the last cell of a row still gets the end of the row with it.
TEST_F(Slices, APauseFallsBetweenRowsWhereTheRowIsOver) {
  for (int row = 0; row < 10; ++row) {
    bed_.mutate(fmt::format("row{}", row), {set(1, std::string(200 * 1024, 'v'))});
  }
  for (const bool reversed : {false, true}) {
    ReadSpec spec = everything();
    spec.reversed = reversed;
    const auto cursor = bed_.open(spec);
    Chunks sink;
    int pauses = 0;
    while (true) {
      const ScanStep step = cursor->run(sink);
      if (step == ScanStep::done) break;
      if (step != ScanStep::paused) continue;
      sink.sent();
      EXPECT_TRUE(cursor->between_rows()) << pauses;
      EXPECT_EQ(cursor->last_row(), fmt::format("row{}", reversed ? 9 - pauses : pauses));
      ++pauses;
    }
    EXPECT_GE(pauses, 9);
  }
}

}  // namespace
}  // namespace cellar::engine
