// The share of time that a merge takes and the bytes that it writes, on a clock that moves only
// while the merge works, waits or rests.
#include "engine/compaction/pace.h"

#include <gtest/gtest.h>

#include <optional>

#include "engine/compaction/merge_speed.h"
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
    rested_us_ = 0;
    task.work_us = static_cast<double>(bytes_of(job)) * speed_.us_per_byte();
    if (task.end_by_us != INT64_MAX) task.end_by_us += began_us;
    Pace& pace = pace_.emplace(loop_.timers(), task);
    world_.block_on(loop_, slices(pace, job));
    speed_.learn(pace.worked_us(), bytes_of(job));
    return world_.now_us() - began_us;
  }
  Async<void> slices(Pace& pace, Job job) {
    for (uint64_t i = 0; i < job.slices; ++i) {
      pace.progress(static_cast<double>(i) / static_cast<double>(job.slices), i * kSliceBytes);
      co_await rest(pace);
      world_.clock().advance_us(job.wait_us);  // other work is served
      pace.begin_slice();
      world_.clock().advance_us(kSliceUs);
      pace.end_slice(kSliceUs);
      if (job.hurried && i == job.slices / 2) pace.boost();
      if (job.finished && i == job.slices / 2) pace.finish_at_once();
    }
  }
  Async<void> rest(Pace& pace) {
    const int64_t began_us = world_.now_us();
    co_await pace.rest();
    rested_us_ += world_.now_us() - began_us;
  }

  SimWorld world_;
  SimLoop& loop_ = world_.add_loop();
  MergeSpeed speed_;
  std::optional<Pace> pace_;  // of the last job
  int64_t rested_us_ = 0;
};

TEST_F(PaceTest, WithoutBoundsItNeverRests) {
  EXPECT_EQ(run({}, {}), 1'000'000);
  EXPECT_EQ(rested_us_, 0);
  EXPECT_EQ(pace_->worked_us(), 1'000'000);
}

TEST_F(PaceTest, AShareOfTheTimeIsRestedFor) {
  EXPECT_NEAR(static_cast<double>(run({.share = 0.25}, {})), 4e6, 0.05e6);
  EXPECT_EQ(pace_->worked_us(), 1'000'000);
}

TEST_F(PaceTest, WaitingForOthersIsRest) {
  EXPECT_NEAR(static_cast<double>(run({.share = 0.25}, {.wait_us = 750})), 4e6, 0.05e6);
  EXPECT_EQ(rested_us_, 0);
}

TEST_F(PaceTest, TheShareRisesWhereItWouldNotEndInTime) {
  const PaceTask task{.share = 0.1, .end_by_us = 2'000'000};
  const int64_t unlearned_us = run(task, {});  // 100 MB/s is also the initial estimate
  EXPECT_LE(unlearned_us, 2'000'000);
  EXPECT_GE(unlearned_us, 1'400'000) << "no faster than it need be";
}

TEST_F(PaceTest, AJobThatGoesSlowerThanItWasThoughtIsCaughtUpWith) {
  speed_.learn(100'000, 100'000'000);  // ten times as fast
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
  Pace& pace = pace_.emplace(loop_.timers(), PaceTask{.share = 0.25});
  pace.begin_slice();
  world_.clock().advance_us(10'000'000);
  pace.end_slice(10'000'000);
  EXPECT_EQ(pace.worked_us(), Pace::kMostWorkUs);
  world_.block_on(loop_, rest(pace));
  EXPECT_EQ(pace.worked_us(), Pace::kMostWorkUs);
  EXPECT_NEAR(static_cast<double>(rested_us_), 3.0 * Pace::kMostWorkUs, 2000);
}

// The timers of a loop stand still during a turn.
TEST_F(PaceTest, ASliceCountsWhereTheTimersHaveNotAdvancedYet) {
  Pace& pace = pace_.emplace(loop_.timers(), PaceTask{.share = 0.25});
  const int64_t began_us = world_.now_us();
  for (int i = 0; i < 1'000; ++i) {
    pace.begin_slice();
    pace.end_slice(kSliceUs);
    world_.block_on(loop_, rest(pace));
  }
  EXPECT_EQ(pace.worked_us(), 1'000 * kSliceUs);
  const auto took_us = static_cast<double>(world_.now_us() - began_us);
  EXPECT_NEAR(took_us, 4.0 * 1'000 * kSliceUs, 0.02e6) << "the time of the slices passes as well";
}

TEST_F(PaceTest, TheTimeBetweenASliceAndItsRestIsWork) {
  Pace& pace = pace_.emplace(loop_.timers(), PaceTask{.share = 0.25});
  for (int i = 0; i < 100; ++i) {
    pace.begin_slice();
    world_.clock().advance_us(kSliceUs);
    pace.end_slice(kSliceUs);
    world_.clock().advance_us(3 * kSliceUs);  // blocks are loaded
    world_.block_on(loop_, rest(pace));
  }
  EXPECT_EQ(pace.worked_us(), 100 * 4 * kSliceUs);
  EXPECT_NEAR(static_cast<double>(rested_us_), 3.0 * 100 * 4 * kSliceUs, 0.02e6);
}

TEST_F(PaceTest, ALongWaitBeforeASliceIsNotSavedUp) {
  Pace& pace = pace_.emplace(loop_.timers(), PaceTask{.share = 0.25});
  world_.block_on(loop_, rest(pace));
  world_.clock().advance_us(1'000'000);
  pace.begin_slice();
  world_.clock().advance_us(10'000);
  pace.end_slice(10'000);
  world_.block_on(loop_, rest(pace));
  EXPECT_NEAR(static_cast<double>(rested_us_), 30'000, 2'000);
}

TEST_F(PaceTest, ItLearnsWhatAByteTakesWithoutRestsAndWaiting) {
  EXPECT_FALSE(speed_.has_learned());
  EXPECT_EQ(speed_.us_per_byte(), MergeSpeed::kFirstUsPerByte);
  run({.share = 0.25}, {.wait_us = 300});
  EXPECT_TRUE(speed_.has_learned());
  EXPECT_NEAR(speed_.us_per_byte(), 0.01, 1e-4);
  speed_.learn(3'000'000, 100'000'000);
  EXPECT_NEAR(speed_.us_per_byte(), 0.02, 1e-3) << "half of what was known, half of the new";
}

TEST_F(PaceTest, ItTellsItsShareWhileAJobIsUnderWay) {
  Pace pace(loop_.timers(), {.share = 0.3});
  EXPECT_EQ(pace.share(), 0.3);
  pace.boost();
  EXPECT_EQ(pace.share(), 1);
}

// A job waits for a long time, and another one, or the end of the shard, does not wait for that.
TEST_F(PaceTest, AnEndAtOnceEndsAPauseUnderWay) {
  for (const bool finished : {false, true}) {
    Pace pace(loop_.timers(), {.share = 0.001, .write_rate = finished ? 0.001 : 1e9});
    pace.progress(0, 1'000'000);
    pace.begin_slice();
    pace.end_slice(Pace::kMostWorkUs);
    bool rested = false;
    const auto work = [&]() -> Async<void> {
      co_await pace.rest();
      rested = true;
    };
    spawn(loop_.executor(), work());
    world_.run_for_us(40'000'000);
    EXPECT_FALSE(rested);
    finished ? pace.finish_at_once() : pace.boost();
    world_.run_for_us(1'000);
    EXPECT_TRUE(rested) << finished;
  }
}

}  // namespace
}  // namespace cellar::engine
