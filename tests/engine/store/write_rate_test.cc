// WriteRate: the throughput of a disk, measured from its writes.
#include "engine/store/blob/write_rate.h"

#include <gtest/gtest.h>

#include "io/sim/sim_loop.h"

namespace cellar::engine {
namespace {

class WriteRateTest : public testing::Test {
 protected:
  // `pieces` writes one after the other, each taking `took_us`, with `between_us` between them.
  void write(int pieces, int64_t took_us, int64_t between_us = 0) {
    for (int i = 0; i < pieces; ++i) {
      rate_->began();
      world_.clock().advance_us(took_us);
      rate_->ended(kPiece);
      world_.clock().advance_us(between_us);
    }
  }

  static constexpr uint64_t kPiece = WriteRate::kWindowBytes / 16;
  SimWorld world_;
  SimLoop& loop_ = world_.add_loop();
  WriteRateRef rate_{new WriteRate(&loop_.timers())};
};

TEST_F(WriteRateTest, NothingIsKnownBeforeAWindowIsFull) {
  write(15, 100);
  EXPECT_EQ(rate_->bytes_per_us(), 0);
  write(1, 100);
  EXPECT_NEAR(rate_->bytes_per_us(), static_cast<double>(kPiece) / 100, 1);
}

TEST_F(WriteRateTest, TimeInWhichNothingIsWrittenDoesNotCount) {
  write(16, 100, 5'000);
  EXPECT_NEAR(rate_->bytes_per_us(), static_cast<double>(kPiece) / 100, 1);
}

TEST_F(WriteRateTest, WritesSideBySideCountOnce) {
  for (int i = 0; i < 8; ++i) {
    rate_->began();
    rate_->began();
    world_.clock().advance_us(100);
    rate_->ended(kPiece);
    rate_->ended(kPiece);
  }
  EXPECT_NEAR(rate_->bytes_per_us(), 2 * static_cast<double>(kPiece) / 100, 1);
}

TEST_F(WriteRateTest, ItRisesAtOnceAndFallsSlowly) {
  write(16, 200);
  write(16, 100);
  const double fast = static_cast<double>(kPiece) / 100;
  EXPECT_NEAR(rate_->bytes_per_us(), fast, 1);
  write(16, 1000);
  EXPECT_LT(rate_->bytes_per_us(), fast);
  EXPECT_GT(rate_->bytes_per_us(), 0.99 * fast);
  write(16 * 10'000, 1000);
  EXPECT_NEAR(rate_->bytes_per_us(), fast / 10, 0.01 * fast);
}

TEST_F(WriteRateTest, AClockThatStandsStillTeachesNothing) {
  write(64, 0);
  EXPECT_EQ(rate_->bytes_per_us(), 0);
}

}  // namespace
}  // namespace cellar::engine
