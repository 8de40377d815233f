#include "net/server/shard/request_meter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "io/sim/manual_clock.h"
#include "net/server/access/slow_log.h"
#include "tests/net/server/server_bed.h"

namespace cellar::server {
namespace {

TEST(LatencyCounts, BucketsAreInOrderWithoutGaps) {
  uint64_t begin = 0;
  for (size_t bucket = 0; bucket + 1 < LatencyCounts::kBuckets; ++bucket) {
    EXPECT_EQ(LatencyCounts::bucket_of(begin), bucket);
    EXPECT_EQ(LatencyCounts::bucket_of(LatencyCounts::end_of(bucket) - 1), bucket);
    begin = LatencyCounts::end_of(bucket);
  }
  EXPECT_EQ(LatencyCounts::bucket_of(UINT64_MAX), LatencyCounts::kBuckets - 1);
}

TEST(LatencyCounts, QuantilesAndPowers) {
  LatencyCounts counts;
  for (uint64_t us = 1; us <= 1000; ++us) counts.record(us);
  EXPECT_EQ(counts.count(), 1000u);
  EXPECT_EQ(counts.sum_us(), 500'500u);
  EXPECT_EQ(counts.below_power(6), 63u);
  EXPECT_EQ(counts.below_power(9), 511u);
  EXPECT_EQ(counts.below_power(26), 1000u);
  const uint64_t median = counts.quantile_us(0.5);
  EXPECT_GE(median, 500u);
  EXPECT_LE(median, 640u);
  EXPECT_GE(counts.quantile_us(1), 1000u);
  EXPECT_EQ(LatencyCounts().quantile_us(0.99), 0u);
}

TEST(RequestMeter, StagesOfASlowRequest) {
  ManualClock clock(7'000'000);
  RequestMeter meter(clock);
  meter.answered(
      {.table_id = 3, .received_us = 100, .began_us = 400, .replied_us = 1400, .op = 18});
  meter.answered({.received_us = 1300, .began_us = 1400, .replied_us = 1400, .op = 16});
  EXPECT_FALSE(meter.empty());
  meter.turn(1500, 1000);
  EXPECT_FALSE(meter.empty()) << "they were not sent yet";
  meter.sent();
  meter.turn(1600, 1000);
  EXPECT_TRUE(meter.empty());
  ASSERT_EQ(meter.slow().kept().size(), 1u);
  const SlowRequest& slow = meter.slow().kept()[0];
  EXPECT_EQ(slow.queued_us, 300);
  EXPECT_EQ(slow.engine_us, 1000);
  EXPECT_EQ(slow.reply_us, 200);
  EXPECT_EQ(slow.at_us, 7'000'000);
  EXPECT_EQ(meter.figures().ops[18].latency.count(), 1u);
  EXPECT_EQ(meter.figures().ops[16].latency.sum_us(), 300u);
}

// Processor time of this thread.
int64_t thread_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// The cost of metering a request that takes the node at least a microsecond. Prints the figure. The
// least of a few rounds, in processor time, so that the load of the machine hardly counts.
TEST(RequestMeter, CostsNanosecondsARequest) {
#ifdef CELLAR_SANITIZED
  constexpr double kMostNs = 1000;
#else
  constexpr double kMostNs = 40;
#endif
  constexpr int kRounds = 8;
  constexpr int kRequests = 250'000;
  constexpr int kTurn = 16;
  static_assert(kRequests % kTurn == 0);
  const SystemClock machine;
  RequestMeter meter(machine);
  int64_t now_us = 0;
  double least_ns = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const int64_t began_ns = thread_ns();
    for (int i = 0; i < kRequests; i += kTurn) {
      for (int k = 0; k < kTurn; ++k) {
        meter.answered({.received_us = now_us, .began_us = now_us, .replied_us = now_us, .op = 18});
      }
      meter.sent();
      now_us += 40 + (i & 63);
      meter.turn(now_us, 100'000);
    }
    least_ns = std::min(least_ns, static_cast<double>(thread_ns() - began_ns) / kRequests);
  }
  fmt::print("{:.1f} ns a request\n", least_ns);
  EXPECT_LT(least_ns, kMostNs);
  EXPECT_EQ(meter.figures().ops[18].latency.count(), uint64_t{kRounds} * kRequests);
}

TEST(SlowRequests, AreARingAndTellAListener) {
  SlowRequests slow;
  size_t told = 0;
  slow.listen([&told](const SlowRequest&) { ++told; });
  for (uint64_t i = 0; i < SlowRequests::kKept + 10; ++i) {
    SlowRequest one;
    one.request_id = i;
    slow.add(std::move(one));
  }
  EXPECT_EQ(slow.kept().size(), SlowRequests::kKept);
  EXPECT_EQ(slow.kept().front().request_id, 10u);
  EXPECT_EQ(slow.total(), SlowRequests::kKept + 10);
  EXPECT_EQ(told, SlowRequests::kKept + 10);
}

// The name that a client gives itself cannot add a line, and all stages are present.
TEST(SlowLog, OneLineWithItsStages) {
  SlowRequest slow;
  slow.queued_us = 300;
  slow.engine_us = 1000;
  slow.reply_us = 200;
  slow.op = static_cast<uint16_t>(wire::fb::Op::ReadRow);
  slow.table_id = 3;
  slow.request_id = 9;
  slow.peer = "127.0.0.1:4000";
  slow.client = "mine\n2026\" forged";
  testing::internal::CaptureStderr();
  log_slow_request(slow, 1);
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(
      line.ends_with(" warn slow: request took long op=ReadRow total_us=1500 queued_us=300 "
                     "engine_us=1000 reply_us=200 code=OK table=3 request=9 shard=1 "
                     "peer=127.0.0.1:4000 client=\"mine\\u000a2026\\\" forged\"\n"))
      << line;
}

// Every answered request is counted once, with the status of its answer.
TEST(RequestMeter, CountsWhatSessionsAnswer) {
  ServerBed bed(1);
  Peer peer(bed);
  for (int i = 0; i < 5; ++i) peer.ask(wire::fb::Op::Ping, {});
  EXPECT_EQ(peer.code_of(static_cast<wire::fb::Op>(99), {}), Errc::unimplemented);
  EXPECT_EQ(peer.code_of(static_cast<wire::fb::Op>(wire::kReclaimOp), {}), Errc::ok);
  bed.world().block_on(bed.client_loop(), sleep_us(bed.client_loop().timers(), 10'000));
  const RequestMeter::Figures& figures = bed.shard(0).meter().figures();
  EXPECT_EQ(figures.ops[static_cast<size_t>(wire::fb::Op::Ping)].answers[0], 5u);
  EXPECT_EQ(figures.ops[0].answers[static_cast<size_t>(Errc::unimplemented)], 1u);
  EXPECT_EQ(figures.ops[0].answers[0], 0u);
  EXPECT_EQ(figures.ops[wire::kReclaimOp].answers[0], 1u);
  EXPECT_TRUE(bed.shard(0).meter().empty());
  EXPECT_GT(bed.shard(0).counters().received_bytes, 0u);
  EXPECT_GT(bed.shard(0).counters().sent_bytes, 0u);
}

}  // namespace
}  // namespace cellar::server
