// How background work shares the time, on a clock that advances only with work.
#include "io/loop/background.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "io/base/check.h"
#include "io/loop/shard_loop.h"
#include "io/sim/manual_clock.h"

namespace cellar {
namespace {

constexpr int64_t kPieceUs = 10;  // work between two readings of the clock
constexpr int64_t kEmptyTurnUs = 2;

class Shares : public testing::Test {
 protected:
  struct Job {
    Job(Background& background, BackgroundKind kind) : work(background, kind) {}
    Background::Work work;
    int64_t worked_us = 0;
    int64_t longest_us = 0;
    int64_t left_us = INT64_MAX;  // work left
  };

  Job& add(BackgroundKind kind) {
    jobs_.push_back(std::make_unique<Job>(background_, kind));
    spawn(loop_.executor(), run(*jobs_.back()));
    return *jobs_.back();
  }
  Async<void> run(Job& job) {
    while (!stopping_) {
      co_await job.work.begin();
      ++slices_in_turn_;
      do {
        clock_.advance_us(kPieceUs);
        job.worked_us += kPieceUs;
        job.left_us -= kPieceUs;
      } while (job.left_us > 0 && !job.work.over());
      const int64_t took_us = job.work.end();
      job.longest_us = std::max(job.longest_us, took_us);
      while (job.left_us <= 0 && !stopping_) co_await yield_now();
    }
  }
  // Turns in which serving takes this long, for this period.
  void serve(int64_t turn_us, int64_t for_us) {
    const int64_t until_us = clock_.boot_us() + for_us;
    while (clock_.boot_us() < until_us) {
      clock_.advance_us(turn_us);
      slices_in_turn_ = 0;
      loop_.turn(false);
      ASSERT_LE(slices_in_turn_, 1) << "a turn has one slice";
    }
  }
  void TearDown() override {
    stopping_ = true;
    for (int i = 0; i < 10'000; ++i) {
      clock_.advance_us(1000);
      loop_.turn(false);
    }
  }

  ManualClock clock_{0, 1'000'000};
  ShardLoop loop_;
  Background background_{clock_};
  std::vector<std::unique_ptr<Job>> jobs_;
  bool stopping_ = false;
  int slices_in_turn_ = 0;
};

TEST_F(Shares, WithNothingToServeItTakesWhatItNeeds) {
  const Job& job = add(BackgroundKind::merge);
  serve(kEmptyTurnUs, 1'000'000);
  EXPECT_GT(job.worked_us, 980'000);
  EXPECT_LE(job.longest_us, Background::kIdleSliceUs + kPieceUs);
}

TEST_F(Shares, UnderAnyLoadItGetsItsLeastShare) {
  const Job& job = add(BackgroundKind::merge);
  for (const int64_t turn_us : {20, 200, 5000}) {
    const int64_t before_us = job.worked_us;
    serve(turn_us, 10'000'000);
    const auto share = static_cast<double>(job.worked_us - before_us) / 10'000'000;
    // A slice follows a whole turn, so longer turns leave less.
    const double slice = Background::kBusySliceUs;
    const double bound =
        std::min(Background::kLeastShare, slice / (slice + static_cast<double>(turn_us)));
    EXPECT_NEAR(share, bound, 0.15 * bound) << turn_us;
  }
}

TEST_F(Shares, BesideServingSlicesAreShort) {
  serve(50, 100'000);
  Job& job = add(BackgroundKind::merge);
  serve(50, 100'000);
  job.longest_us = 0;
  serve(50, 1'000'000);
  EXPECT_LE(job.longest_us, Background::kBusySliceUs + kPieceUs);
  EXPECT_GT(job.worked_us, 0);
}

TEST_F(Shares, TheShareRisesWithTheBacklog) {
  double backlog = 0;
  background_.watch([&backlog](BackgroundKind) { return backlog; });
  const Job& job = add(BackgroundKind::flush);
  serve(20, 100'000);
  for (backlog = 0; backlog <= 1; backlog += 0.25) {
    const int64_t before_us = job.worked_us;
    serve(20, 2'000'000);
    const auto share = static_cast<double>(job.worked_us - before_us) / 2'000'000;
    EXPECT_NEAR(share, Background::share_of(backlog), 0.05) << backlog;
  }
  background_.watch([](BackgroundKind) { return 0.0; });  // the lifetime of `backlog` ends here
}

TEST_F(Shares, TwoKindsGetWhatTheirBacklogsGiveAndServingKeepsAFifth) {
  background_.watch([](BackgroundKind) { return 1.0; });
  const Job& flush = add(BackgroundKind::flush);
  const Job& merge = add(BackgroundKind::merge);
  const Job& other = add(BackgroundKind::merge);
  serve(9, 5'000'000);
  const auto share = [](int64_t us) { return static_cast<double>(us) / 5'000'000; };
  const int64_t merges_us = merge.worked_us + other.worked_us;
  EXPECT_NEAR(share(flush.worked_us + merges_us), Background::kMostOfAll, 0.05);
  EXPECT_NEAR(share(flush.worked_us), share(merges_us), 0.03);
  EXPECT_NEAR(share(merge.worked_us), share(other.worked_us), 0.03);
}

TEST_F(Shares, AWorkMayBePromisedMore) {
  background_.watch([](BackgroundKind) { return Background::backlog_of(0.5); });
  const Job& job = add(BackgroundKind::merge);
  serve(20, 2'000'000);
  EXPECT_NEAR(static_cast<double>(job.worked_us) / 2'000'000, 0.5, 0.05);
}

TEST_F(Shares, WhoDidNotWaitHasNothingSavedUp) {
  Job& flush = add(BackgroundKind::flush);
  flush.left_us = 0;
  const Job& merge = add(BackgroundKind::merge);
  serve(20, 2'000'000);
  flush.left_us = INT64_MAX;
  const int64_t flush_us = flush.worked_us;
  const int64_t merge_us = merge.worked_us;
  serve(20, 2'000'000);
  EXPECT_NEAR(static_cast<double>(flush.worked_us - flush_us),
              static_cast<double>(merge.worked_us - merge_us), 20'000);
}

// A full load of writes, each of which causes later work: the backlog stays below its bound, and
// serving waits for at most one slice.
TEST_F(Shares, DebtIsBoundedAndServingIsNotDelayed) {
  constexpr double kBoundUs = 500'000;    // of waiting work
  constexpr double kWorkPerServed = 0.6;  // us of flushing for each us of serving
  Job& job = add(BackgroundKind::flush);
  job.left_us = 0;
  const auto debt = [&job] { return static_cast<double>(std::max<int64_t>(job.left_us, 0)); };
  background_.watch([&debt](BackgroundKind) { return debt() / kBoundUs; });
  double worst = 0;
  int64_t served_us = 0;
  const int64_t began_us = clock_.boot_us();
  constexpr int64_t kTurnUs = 50;
  while (clock_.boot_us() - began_us < 30'000'000) {
    served_us += kTurnUs;
    clock_.advance_us(kTurnUs);
    job.left_us += static_cast<int64_t>(kTurnUs * kWorkPerServed);
    const int64_t before_us = clock_.boot_us();
    loop_.turn(false);
    ASSERT_LE(clock_.boot_us() - before_us, Background::kIdleSliceUs + kPieceUs);
    worst = std::max(worst, debt());
  }
  EXPECT_LT(worst, 0.8 * kBoundUs);
  // 0.6 of work for each 1 of serving: serving gets 1 of 1.6.
  const auto total_us = static_cast<double>(clock_.boot_us() - began_us);
  EXPECT_NEAR(static_cast<double>(served_us) / total_us, 1 / 1.6, 0.03);
  // Without load the backlog is soon done.
  serve(kEmptyTurnUs, 600'000);
  EXPECT_LE(debt(), 0);
}

// Reads of one table while eight others are flushed and merged, all behind: a due read waits for
// one slice and for the reads that were due before it, and for nothing else.
TEST_F(Shares, AReadWaitsForOneSliceHoweverManyTablesAreBehind) {
  constexpr int64_t kReadUs = 2;
  constexpr int64_t kEveryUs = 40;  // a read is due
  background_.watch([](BackgroundKind) { return 1.0; });
  for (int i = 0; i < 8; ++i) add(i % 2 == 0 ? BackgroundKind::flush : BackgroundKind::merge);
  std::vector<int64_t> waited_us;
  int64_t due_us = clock_.boot_us();
  for (int turn = 0; turn < 20'000; ++turn) {
    for (; due_us <= clock_.boot_us(); due_us += kEveryUs) {
      clock_.advance_us(kReadUs);
      waited_us.push_back(clock_.boot_us() - due_us);
    }
    clock_.advance_us(kEmptyTurnUs);
    loop_.turn(false);
  }
  std::sort(waited_us.begin(), waited_us.end());
  ASSERT_GT(waited_us.size(), 10'000u);
  const int64_t slice_us = Background::kIdleSliceUs + kPieceUs + kEmptyTurnUs;
  EXPECT_LE(waited_us[waited_us.size() * 99 / 100], slice_us);
  EXPECT_LE(waited_us.back(), slice_us + kReadUs * (slice_us / kEveryUs + 1));
}

}  // namespace
}  // namespace cellar
