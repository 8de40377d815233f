// Flushes and merges yield in time on every input. Measures the processor time of each turn of the
// loop in which one of them has a slice, including the turns that finish and open tables.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <vector>

#include "engine/compaction/merge_job.h"
#include "tests/support/table_bed.h"

namespace cellar::engine {
namespace {

using support::OwnedMutation;
using support::TableBed;

#ifdef CELLAR_SANITIZED
constexpr bool kSanitized = true;  // the sanitizer's time counts too
#else
constexpr bool kSanitized = false;
#endif

constexpr int64_t kMostUs = 500;  // bound of 19 of 20 turns

// The processor time of this thread, so that slices end by their own work on any machine.
class ProcessorClock final : public Clock {
 public:
  int64_t wall_us() const override { return boot_us(); }
  int64_t boot_us() const override {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1'000'000 + now.tv_nsec / 1000;
  }
};

// Records how long the turns with a slice took.
class TurnTimes final : public LoopHook {
 public:
  TurnTimes(Loop& loop, const Clock& clock, const Background& background)
      : loop_(loop), clock_(clock), background_(background) {
    loop_.add_hook(*this);
  }
  ~TurnTimes() override { loop_.remove_hook(*this); }
  bool on_turn() override {
    const int64_t now_us = clock_.boot_us();
    if (background_.stats().slices != slices_) took_us.push_back(now_us - began_us_);
    slices_ = background_.stats().slices;
    began_us_ = clock_.boot_us();
    return false;
  }
  void clear() {
    took_us.clear();
    began_us_ = clock_.boot_us();
  }
  std::vector<int64_t> took_us;

 private:
  Loop& loop_;
  const Clock& clock_;
  const Background& background_;
  uint64_t slices_ = 0;
  int64_t began_us_ = 0;
};

class MergeSlices : public testing::Test {
 protected:
  MergeSlices() {
    bed_.background = &background_;
    bed_.store.make_rooms(4, 32u << 20);
  }

  static OwnedMutation set(int i, const std::string& value, int64_t at_us = 1000) {
    return {Mutation::Kind::set_cell, "f", fmt::format("q{:06}", i), value, at_us};
  }
  static OwnedMutation delete_column(int i) {
    return {Mutation::Kind::delete_from_column,
            "f",
            fmt::format("q{:06}", i),
            "",
            0,
            0,
            kMaxTimestampUs};
  }

  // Bytes that do not compress.
  std::string noise(size_t bytes) {
    std::string out(bytes, '\0');
    for (char& c : out) c = static_cast<char>(random_.below(256));
    return out;
  }

  // Sorts.
  static int64_t p95_of(std::vector<int64_t>& took_us) {
    std::sort(took_us.begin(), took_us.end());
    return took_us[took_us.size() * 95 / 100];
  }
  void expect_short(const char* what, size_t turns = 20) {
    std::vector<int64_t> took_us = std::move(times_.took_us);
    times_.clear();
    ASSERT_GE(took_us.size(), turns) << what << ": too little to be sliced";
    if (kSanitized) return;
    const int64_t p95_us = p95_of(took_us);
    EXPECT_LE(p95_us, kMostUs) << what;
    fmt::print("{:34} turns {:5}  p50 {:4}  p95 {:4}  longest {:5} us\n", what, took_us.size(),
               took_us[took_us.size() / 2], p95_us, took_us.back());
  }
  // Flushes what was written, then merges all runs.
  void flush(const char* what, size_t turns = 20) {
    times_.clear();
    bed_.flush();
    expect_short(what, turns);
  }
  void merge(const char* what, size_t turns = 20) {
    times_.clear();
    bed_.compact(0, bed_.runs.size());
    expect_short(what, turns);
  }

  const ProcessorClock clock_;
  Background background_{clock_};
  Random random_{1};
  TableBed bed_{random_};
  TurnTimes times_{bed_.loop, clock_, background_};
};

TEST_F(MergeSlices, OfManySmallCells) {
  for (int run = 0; run < 2; ++run) {
    for (int row = 0; row < 30'000; ++row)
      bed_.bed.mutate(fmt::format("row{:06}", row * 2 + run), {set(1, "v"), set(2, "w")});
    flush("flush of small cells");
  }
  merge("merge of small cells");
}

// The first four turns of a flush touch the pages of its buffers for the first time, which the
// kernel makes slow: a table has enough turns that these are fewer than one of 20.
TEST_F(MergeSlices, OfLargeValues) {
  for (int run = 0; run < 2; ++run) {
    for (int row = 0; row < 400; ++row)
      bed_.bed.mutate(fmt::format("row{:06}", row * 2 + run), {set(1, noise(64 * 1024))});
    flush("flush of values of 64 KiB", 80);
  }
  bed_.store.make_rooms(1, 64u << 20);
  merge("merge of values of 64 KiB", 80);
}

TEST_F(MergeSlices, OfDeletes) {
  for (int row = 0; row < 20'000; ++row)
    bed_.bed.mutate(fmt::format("row{:06}", row), {set(1, "v"), set(2, "w")});
  flush("flush of cells");
  for (int row = 0; row < 20'000; ++row)
    bed_.bed.mutate(fmt::format("row{:06}", row), {delete_column(1)});
  for (int range = 0; range < 500; ++range)
    bed_.bed.drop_rows(fmt::format("row{:06}", range * 40),
                       fmt::format("row{:06}", range * 40 + 20));
  flush("flush of deletes");
  merge("merge of what they cover");
}

TEST_F(MergeSlices, OfARowWithAHundredThousandColumns) {
  for (int run = 0; run < 2; ++run) {
    for (int part = 0; part < 10; ++part) {
      std::vector<OwnedMutation> ops;
      for (int i = 0; i < 5'000; ++i)
        ops.push_back(set((part * 5'000 + i) * 2 + run, std::string(20, 'v')));
      bed_.bed.mutate("row", ops);
    }
    flush("flush of a long row");
  }
  merge("merge of a row of 100,000 columns");
}

// Work done once per table: its filter, its index, and opening it.
TEST_F(MergeSlices, OfTheTailOfALargeTable) {
  TableWriterOptions options = small_blocks();
  options.block_bytes = 64;  // about one entry per block
  constexpr int kRows = 300'000;
  // The best of them counts: 5 % of the turns of one table are three, and noise is as much.
  constexpr int kTables = 3;
  std::vector<int64_t> best_us;
  std::optional<TableMeta> meta;
  Background::Work work(background_, BackgroundKind::flush);
  for (int table = 0; table < kTables; ++table) {
    options.blob = *bed_.next_blob_id();
    auto out = bed_.world.block_on(bed_.loop, bed_.store.create(options.blob, 0, IoClass::flush));
    TableWriter writer(options, std::move(*out));
    for (int row = 0; row < kRows; ++row) {
      const auto [key, value] = cell_of(fmt::format("row{:07}", row));
      writer.add(key, value);
      if (writer.wants_flush()) ASSERT_TRUE(bed_.world.block_on(bed_.loop, writer.flush()));
    }
    ASSERT_TRUE(bed_.world.block_on(bed_.loop, writer.flush()));
    times_.clear();
    auto written = bed_.world.block_on(bed_.loop, writer.finish(&work));
    ASSERT_TRUE(written.has_value());
    EXPECT_GT(written->blocks, 50'000u);
    meta = *std::move(written);
    if (best_us.empty() || p95_of(times_.took_us) < p95_of(best_us)) best_us = times_.took_us;
  }
  times_.took_us = std::move(best_us);
  expect_short("the tail of a table is written", 10);
  auto blob = bed_.world.block_on(bed_.loop, bed_.store.open(options.blob));
  times_.clear();
  auto reader =
      bed_.world.block_on(bed_.loop, TableReader::open(std::move(*blob), bed_.loader, &work));
  ASSERT_TRUE(reader.has_value()) << reader.error().to_string();
  expect_short("and read", 20);
  EXPECT_EQ((*reader)->index().blocks(), meta->blocks);
}

}  // namespace
}  // namespace cellar::engine
