// The share of time that a merge takes and the bytes that it writes, on a clock that moves only
// while the merge works, waits or rests.
#include "engine/compaction/pace.h"

#include <gtest/gtest.h>

#include "io/sim/sim_loop.h"

namespace cellar::engine {
namespace {

constexpr int64_t kSliceUs = 250;
constexpr uint64_t kSliceBytes = 25'000;  // read, and written: 100 MB/s

class PaceTest : public testing::Test {
 protected:
  struct Job {
    uint64_t slices = 4'000;  // a second of work
    int64_t wait_us = 0;      // before each slice
    bool hurried = false;     // boosted half-way
    bool finished = false;    // finished at once, half-way
  };
  uint64_t bytes_of(const Job& job) const { return job.slices * kSliceBytes; }

  // Returns how long the job takes.
  int64_t run(PaceTask task, const Job& job) {
    const int64_t began_us = world_.now_us();
    task.bytes = static_cast<double>(bytes_of(job));
    if (task.end_by_us != INT64_MAX) task.end_by_us += began_us;
    pace_.begin(task);
    world_.block_on(loop_, slices(job));
    pace_.end(bytes_of(job));
    return world_.now_us() - began_us;
  }
  Async<void> slices(Job job) {
    for (uint64_t i = 0; i < job.slices; ++i) {
      pace_.progress(static_cast<double>(i) / static_cast<double>(job.slices), i * kSliceBytes);
      do {
        co_await pace_.rest();
      } while (pace_.owes_rest());
      world_.clock().advance_us(job.wait_us);  // other work is served
      pace_.begin_slice();
      world_.clock().advance_us(kSliceUs);
      pace_.end_slice(kSliceUs);
      if (job.hurried && i == job.slices / 2) pace_.boost();
      if (job.finished && i == job.slices / 2) pace_.finish_at_once();
    }
  }

  SimWorld world_;
  SimLoop& loop_ = world_.add_loop();
  Pace pace_{loop_.timers()};
};

TEST_F(PaceTest, WithoutBoundsItNeverRests) {
  EXPECT_EQ(run({}, {}), 1'000'000);
  EXPECT_EQ(pace_.rested_us(), 0);
  EXPECT_EQ(pace_.worked_us(), 1'000'000);
}

TEST_F(PaceTest, AShareOfTheTimeIsRestedFor) {
  EXPECT_NEAR(static_cast<double>(run({.share = 0.25}, {})), 4e6, 0.05e6);
  EXPECT_EQ(pace_.worked_us(), 1'000'000);
}

TEST_F(PaceTest, WaitingForOthersIsRest) {
  EXPECT_NEAR(static_cast<double>(run({.share = 0.25}, {.wait_us = 750})), 4e6, 0.05e6);
  EXPECT_EQ(pace_.rested_us(), 0);
}

TEST_F(PaceTest, TheShareRisesWhereItWouldNotEndInTime) {
  const PaceTask task{.share = 0.1, .end_by_us = 2'000'000};
  const int64_t unlearned_us = run(task, {});  // 100 MB/s is also the initial estimate
  EXPECT_LE(unlearned_us, 2'000'000);
  EXPECT_GE(unlearned_us, 1'400'000) << "no faster than it need be";
}

TEST_F(PaceTest, AJobThatGoesSlowerThanItWasThoughtIsCaughtUpWith) {
  pace_.learn(100'000, 100'000'000);  // ten times as fast
  EXPECT_LE(run({.share = 0.1, .end_by_us = 2'000'000}, {}), 2'000'000);
}

TEST_F(PaceTest, WhereItCannotEndInTimeItDoesNotRest) {
  EXPECT_LE(run({.share = 0.1, .end_by_us = 500'000}, {}), 1'010'000);
}

TEST_F(PaceTest, WithTimeEnoughTheShareStays) {
  EXPECT_NEAR(static_cast<double>(run({.share = 0.25, .end_by_us = 60'000'000}, {})), 4e6, 0.05e6);
}

// 100 MB at 20 MB/s.
TEST_F(PaceTest, BytesAreACeilingThatNoHurryLifts) {
  constexpr double kRate = 20;
  EXPECT_NEAR(static_cast<double>(run({.write_rate = kRate}, {})), 5e6, 0.05e6);
  EXPECT_NEAR(static_cast<double>(run({.end_by_us = 1, .write_rate = kRate}, {})), 5e6, 0.05e6);
  EXPECT_NEAR(static_cast<double>(run({.write_rate = kRate}, {.hurried = true})), 5e6, 0.05e6);
}

TEST_F(PaceTest, WaitingAndSharesCountForTheBytesToo) {
  EXPECT_NEAR(static_cast<double>(run({.share = 0.2, .write_rate = 20}, {})), 5e6, 0.1e6);
  EXPECT_NEAR(static_cast<double>(run({.write_rate = 20}, {.wait_us = 1000})), 5e6, 0.1e6);
}

TEST_F(PaceTest, HurryEndsTheRestsOfItsShare) {
  EXPECT_NEAR(static_cast<double>(run({.share = 0.25}, {.hurried = true})), 2.5e6, 0.05e6);
}

TEST_F(PaceTest, WhatIsToFinishAtOnceRestsForNothingAnyMore) {
  EXPECT_NEAR(static_cast<double>(run({.write_rate = 20}, {.finished = true})), 3e6, 0.05e6)
      << "half of it at 20 MB/s, half of it as fast as it can";
  EXPECT_NEAR(static_cast<double>(run({.share = 0.1, .write_rate = 20}, {.finished = true})), 5.5e6,
              0.1e6);
}

// The process was stopped, or the machine was suspended, during a slice.
TEST_F(PaceTest, OfASliceThatTookLongLittleCountsAsWork) {
  pace_.begin({.share = 0.25});
  pace_.begin_slice();
  world_.clock().advance_us(10'000'000);
  pace_.end_slice(10'000'000);
  EXPECT_EQ(pace_.worked_us(), Pace::kMostWorkUs);
  world_.block_on(loop_, [](Pace& pace) -> Async<void> {
    do {
      co_await pace.rest();
    } while (pace.owes_rest());
  }(pace_));
  EXPECT_NEAR(static_cast<double>(pace_.rested_us()), 3.0 * Pace::kMostWorkUs, 2000);
}

TEST_F(PaceTest, ItLearnsWhatAByteTakesWithoutRestsAndWaiting) {
  EXPECT_FALSE(pace_.has_learned());
  EXPECT_EQ(pace_.us_per_byte(), Pace::kFirstUsPerByte);
  run({.share = 0.25}, {.wait_us = 300});
  EXPECT_TRUE(pace_.has_learned());
  EXPECT_NEAR(pace_.us_per_byte(), 0.01, 1e-4);
  pace_.learn(3'000'000, 100'000'000);
  EXPECT_NEAR(pace_.us_per_byte(), 0.02, 1e-3) << "half of what was known, half of the new";
}

TEST_F(PaceTest, ItTellsItsShareWhileAJobIsUnderWay) {
  EXPECT_EQ(pace_.share(), 0);
  pace_.begin({.share = 0.3});
  EXPECT_EQ(pace_.share(), 0.3);
  pace_.boost();
  EXPECT_EQ(pace_.share(), 1);
  pace_.over();
  EXPECT_EQ(pace_.share(), 0);
}

}  // namespace
}  // namespace cellar::engine
