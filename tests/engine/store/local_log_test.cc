#include <deque>

#include "engine/record/file_header.h"
#include "engine/store/commit/write_depth.h"
#include "engine/store/file/record_file.h"
#include "engine/store/log/local_log_store.h"
#include "engine/store/log/log_files.h"
#include "tests/engine/store/local_log_bed.h"

namespace cellar::engine {
namespace {

TEST_F(LogTest, EntriesComeBackAsTheyWereAppended) {
  {
    StoreRig rig(disk);
    auto log = create(rig);
    const std::vector<size_t> sizes = {0, 1, 100, 4000, 4096, 16'000, 70'000, 5, 200'000, 3};
    for (size_t i = 0; i < sizes.size(); ++i) {
      payloads.push_back(payload_of(i, sizes[i]));
      append(*log, payloads.back());
      ASSERT_TRUE(rig.world.run_until([&] { return appends.back().is_done; }));
      EXPECT_TRUE(appends.back().ok());
      EXPECT_GE(log->durable_end(), appends.back().end);
      EXPECT_EQ(log->end(), appends.back().end);
    }
    const auto end = value_of(rig.run(log->seal()));
    EXPECT_EQ(end, appends.back().end);
    Append late(order, 99);
    const auto refused = log->append(entry_of(1, "x"), late);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::unavailable);
  }
  Collector seen;
  const auto report = value_of(read(disk, seen));
  expect_all_appended(seen);
  EXPECT_EQ(report.entries, payloads.size());
  EXPECT_EQ(report.torn_tail_bytes, 0u);
  for (size_t i = 0; i < seen.seen.size(); ++i) {
    EXPECT_EQ(seen.seen[i].end, appends[i].end);
    EXPECT_EQ(seen.seen[i].tablet, TabletId{i % 7 + 1});
    EXPECT_EQ(seen.seen[i].epoch, Epoch{i % 3 + 1});
    EXPECT_EQ(seen.seen[i].stamp, CommitStamp{1000 + i});
  }
  // A read from the end of any entry returns exactly the entries after it.
  for (size_t i = 0; i < seen.seen.size(); ++i) {
    Collector rest;
    (void)value_of(read(disk, rest, seen.seen[i].end));
    ASSERT_EQ(rest.seen.size(), seen.seen.size() - 1 - i);
    if (!rest.seen.empty()) EXPECT_EQ(rest.seen[0].payload, payloads[i + 1]);
  }
}

TEST_F(LogTest, DoneNeverRunsInsideAppendAndKeepsTheOrder) {
  StoreRig rig(disk);
  auto log = create(rig);
  const Durability levels[] = {Durability::sync, Durability::memory, Durability::periodic};
  for (int i = 0; i < 30; ++i) append(*log, payload_of(1, 3000), levels[i % 3]);
  EXPECT_TRUE(order.empty());
  ASSERT_TRUE(rig.world.run_until([&] { return order.size() == 30; }));
  for (int i = 0; i < 30; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
  (void)value_of(rig.run(log->seal()));
}

TEST_F(LogTest, ManyAppendsOfOneTurnShareAWrite) {
  StoreRig rig(disk);
  auto log = create(rig);
  const uint64_t before = log->durable_end().value();
  for (int i = 0; i < 50; ++i) append(*log, "a small entry");
  ASSERT_TRUE(rig.world.run_until([&] { return order.size() == 50; }));
  // 50 entries of 57 bytes fill one block, not fifty.
  EXPECT_LE(log->durable_end().value(), std::max<uint64_t>(before, 4096) + 4096);
  (void)value_of(rig.run(log->seal()));
}

TEST_F(LogTest, MemoryAndPeriodicAreDoneAtOnceButNeverBeforeAnEarlierSync) {
  StoreRig rig(disk, 1, {.min_latency_us = 1000, .max_latency_us = 1000});
  auto log = create(rig);
  Append& first = append(*log, "memory", Durability::memory);
  rig.world.run_for_us(10);
  EXPECT_TRUE(first.ok());
  EXPECT_LT(log->durable_end(), first.end);
  Append& second = append(*log, "sync", Durability::sync);
  Append& third = append(*log, "memory", Durability::memory);
  rig.world.run_for_us(500);
  EXPECT_FALSE(second.is_done);
  EXPECT_FALSE(third.is_done);
  rig.world.run_for_us(2000);
  EXPECT_TRUE(second.ok());
  EXPECT_TRUE(third.ok());
  (void)value_of(rig.run(log->seal()));
}

TEST_F(LogTest, PeriodicReachesTheDiskWithinItsInterval) {
  StoreRig rig(disk, 1, {.min_latency_us = 100, .max_latency_us = 100});
  LogOptions options = small_log();
  options.periodic_interval_us = 20'000;
  auto log = create(rig, options);
  Append& one = append(*log, "periodic", Durability::periodic);
  rig.world.run_for_us(15'000);
  EXPECT_TRUE(one.ok());
  EXPECT_LT(log->durable_end(), one.end);
  rig.world.run_for_us(6'000);
  EXPECT_GE(log->durable_end(), one.end);
  (void)value_of(rig.run(log->seal()));
}

TEST_F(LogTest, SyncWaitsForEverythingWhateverItsLevel) {
  StoreRig rig(disk, 1, {.min_latency_us = 100, .max_latency_us = 100});
  auto log = create(rig);
  Append& one = append(*log, "memory", Durability::memory);
  expect_ok(rig.run(log->sync()));
  EXPECT_GE(log->durable_end(), one.end);
  expect_ok(rig.run(log->sync()));  // nothing to do
  (void)value_of(rig.run(log->seal()));
}

TEST_F(LogTest, AClosingMarkFollowsWithin100MsOfTheLastWriteAndTheLogThenRests) {
  StoreRig rig(disk, 1, {.min_latency_us = 100, .max_latency_us = 100});
  auto log = create(rig);
  Append& one = append(*log, "entry");
  ASSERT_TRUE(rig.world.run_until([&] { return one.is_done; }));
  const uint64_t data_end = log->durable_end().value();
  rig.world.run_for_us(100'000);
  const uint64_t marked_end = log->durable_end().value();
  EXPECT_EQ(marked_end, data_end + 4096);
  // Damage of the acknowledged entry can be distinguished from a torn tail now.
  const std::string message = expect_first_entry_is_guarded();
  EXPECT_NE(message.find("00000000.seg is damaged at 4096"), std::string::npos) << message;
  rig.world.run_for_us(10'000'000);
  EXPECT_EQ(log->durable_end().value(), marked_end);
  (void)value_of(rig.run(log->seal()));
}

TEST_F(LogTest, AMarkInTheMiddleOfABatchCountsWhenTheBytesBeforeItAreDamaged) {
  StoreRig rig(disk, 1, {.min_latency_us = 1000, .max_latency_us = 1000});
  auto log = create(rig);
  Append& first = append(*log, "first");
  rig.world.run_for_us(500);
  // Starts the next batch while nothing is durable yet, so that batch has a mark of 0.
  append(*log, "second", Durability::memory);
  ASSERT_TRUE(rig.world.run_until([&] { return first.is_done; }));
  rig.world.run_for_us(100'000);
  (void)expect_first_entry_is_guarded();
  (void)value_of(rig.run(log->seal()));
}

TEST_F(LogTest, TheFirstFailedWritePoisons) {
  StoreRig rig(disk, 1, {.min_latency_us = 100, .max_latency_us = 100});
  auto log = create(rig);
  Append& before = append(*log, "before");
  ASSERT_TRUE(rig.world.run_until([&] { return before.is_done; }));
  rig.world.run_for_us(5'000);
  expect_ok(rig.rules.add("write path=log/* nth=1 error=EIO"));
  Append& failed = append(*log, "failed");
  Append& behind = append(*log, "behind", Durability::memory);
  ASSERT_TRUE(rig.world.run_until([&] { return behind.is_done; }));
  EXPECT_TRUE(before.ok());
  ASSERT_NE(failed.failure, nullptr);
  ASSERT_NE(behind.failure, nullptr);
  EXPECT_EQ(failed.failure->code, Errc::unavailable);
  EXPECT_EQ(failed.failure->applied, Applied::maybe_applied);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
  ASSERT_NE(log->failure(), nullptr);
  // The next write would succeed, but must not be tried.
  Append late(order, 99);
  const auto refused = log->append(entry_of(1, "late"), late);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unavailable);
  EXPECT_EQ(refused.error().applied, Applied::not_applied);
  EXPECT_FALSE(rig.run(log->sync()));
  EXPECT_FALSE(rig.run(log->seal()));
  EXPECT_EQ(rig.rules.hits(), 1u);
  EXPECT_LT(log->durable_end(), failed.end) << "what is behind a hole is not on disk";
  Collector seen;
  (void)value_of(read(disk, seen));
  ASSERT_EQ(seen.seen.size(), 1u);
  EXPECT_EQ(seen.seen[0].payload, "before");
}

TEST_F(LogTest, ShortWritesAreCarriedToTheirEnd) {
  {
    StoreRig rig(disk);
    auto log = create(rig);
    expect_ok(rig.rules.add("write path=log/* p=0.5 seed=3 short"));
    for (size_t i = 0; i < 20; ++i) {
      payloads.push_back(payload_of(i, 10'000));
      append(*log, payloads.back());
      rig.world.run_until_idle();
    }
    (void)value_of(rig.run(log->seal()));
    EXPECT_GT(rig.rules.hits(), 3u);
  }
  Collector seen;
  (void)value_of(read(disk, seen));
  expect_all_appended(seen);
}

TEST_F(LogTest, TooMuchWaitingForTheDiskIsRefusedWithAHint) {
  StoreRig rig(disk, 1, {.min_latency_us = 10'000, .max_latency_us = 10'000});
  auto log = create(rig);
  size_t taken = 0;
  for (;; ++taken) {
    Append& a = appends.emplace_back(order, static_cast<int>(taken));
    const auto result = log->append(entry_of(taken, payload_of(taken, 20'000)), a);
    if (result) continue;
    appends.pop_back();
    EXPECT_EQ(result.error().code, Errc::resource_exhausted);
    EXPECT_TRUE(result.error().retryable());
    break;
  }
  EXPECT_GE(taken, 12u);
  EXPECT_LE(taken, 14u);
  ASSERT_TRUE(rig.world.run_until([&] { return order.size() == taken; }));
  append(*log, "again");
  (void)value_of(rig.run(log->seal()));
}

TEST_F(LogTest, AFullDiskRefusesAndTheLogResumesByItselfWhenThereIsSpace) {
  StoreRig rig(disk, 1, {.min_latency_us = 100, .max_latency_us = 100});
  auto log = create(rig);
  rig.world.run_for_us(200'000);  // the spare is ready
  disk.set_bytes_limit(disk.used_bytes());
  Error refusal;
  size_t i = 0;
  for (; i < 100; ++i) {
    payloads.push_back(payload_of(i, 3'000));
    Append& a = appends.emplace_back(order, static_cast<int>(i));
    const auto result = log->append(entry_of(i, payloads.back()), a);
    if (!result) {
      refusal = result.error();
      payloads.pop_back();
      appends.pop_back();
      break;
    }
    ASSERT_TRUE(rig.world.run_until([&] { return a.is_done; }));
    ASSERT_TRUE(a.ok());
    rig.world.run_for_us(10'000);
  }
  EXPECT_EQ(refusal.code, Errc::resource_exhausted) << refusal.to_string();
  EXPECT_TRUE(refusal.retryable());
  EXPECT_EQ(refusal.os_error, ENOSPC);
  EXPECT_GT(i, 16u);  // the prepared segments could still be used
  EXPECT_EQ(log->failure(), nullptr);
  rig.world.run_for_us(2'000'000);
  disk.set_bytes_limit(UINT64_MAX);
  rig.world.run_for_us(1'000'000);
  payloads.push_back("again");
  Append& again = append(*log, "again");
  ASSERT_TRUE(rig.world.run_until([&] { return again.is_done; }));
  EXPECT_TRUE(again.ok());
  (void)value_of(rig.run(log->seal()));
  Collector seen;
  (void)value_of(read(disk, seen));
  expect_all_appended(seen);
}

TEST_F(LogTest, SealingOnAFullDiskFailsInsteadOfWaiting) {
  StoreRig rig(disk, 1, {.min_latency_us = 100, .max_latency_us = 100});
  auto log = create(rig);
  rig.world.run_for_us(200'000);
  disk.set_bytes_limit(disk.used_bytes());
  // Accepted because the full disk has not been noticed yet; needs more than is prepared.
  Append& large = append(*log, payload_of(1, 240'000));
  rig.world.run_for_us(100'000);
  EXPECT_FALSE(large.is_done);
  EXPECT_FALSE(rig.run(log->seal()));
  EXPECT_TRUE(large.is_done);
  EXPECT_NE(large.failure, nullptr);
}

// The preparation is under way when the log is sealed, and fails then for the first time.
TEST_F(LogTest, SealingWhileTheDiskBecomesFullFailsInsteadOfWaiting) {
  StoreRig rig(disk, 1, {.min_latency_us = 10'000, .max_latency_us = 10'000});
  auto log = create(rig);
  rig.world.run_for_us(2'000'000);
  disk.set_bytes_limit(disk.used_bytes());
  Append& large = append(*log, payload_of(1, 240'000));
  EXPECT_FALSE(rig.run(log->seal()));
  EXPECT_TRUE(large.is_done);
  EXPECT_NE(large.failure, nullptr);
}

TEST_F(LogTest, AnAppendForWhichThereIsNoSpaceWaitsUntilTheLogGivesUp) {
  StoreRig rig(disk, 1, {.min_latency_us = 100, .max_latency_us = 100});
  auto log = create(rig);
  rig.world.run_for_us(200'000);
  disk.set_bytes_limit(disk.used_bytes());
  Append& large = append(*log, payload_of(1, 240'000));
  rig.world.run_for_us(100'000'000);
  EXPECT_FALSE(large.is_done);
  log->give_up_waiting_for_space();
  ASSERT_TRUE(rig.world.run_until([&] { return large.is_done; }));
  EXPECT_NE(large.failure, nullptr);
  (void)rig.run(log->seal());
}

TEST_F(LogTest, ASmallWriteOvertakesTheWaitAndWhatComesBehindTheLastSharesTheNext) {
  StoreRig rig(disk, 1, {.min_latency_us = 1000, .max_latency_us = 1000});
  auto log = create(rig);
  ASSERT_EQ(WriteDepth().limit(), 2u);
  Append& first = append(*log, "first");
  rig.world.run_for_us(100);
  Append& second = append(*log, "second");
  rig.world.run_for_us(100);
  Append& third = append(*log, "third");
  Append& fourth = append(*log, "fourth");
  rig.world.run_for_us(950);
  EXPECT_TRUE(first.ok());
  EXPECT_TRUE(second.ok()) << "it was written while the first was in flight";
  EXPECT_FALSE(third.is_done) << "two were in flight";
  ASSERT_TRUE(rig.world.run_until([&] { return third.is_done; }));
  EXPECT_TRUE(fourth.ok());
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
  (void)value_of(rig.run(log->seal()));
}

TEST_F(LogTest, ABatchWaitsUntilItHasItsPartOfTheAppends) {
  StoreRig rig(disk, 1, {.min_latency_us = 1000, .max_latency_us = 1000});
  auto log = create(rig);
  for (int i = 0; i < 8; ++i) append(*log, "first");
  rig.world.run_for_us(100);
  for (int i = 0; i < 3; ++i) append(*log, "few");
  rig.world.run_for_us(100);
  append(*log, "half");  // with a limit of 2: 4 of 8
  rig.world.run_for_us(100);
  append(*log, "next");
  rig.world.run_for_us(950);
  EXPECT_EQ(order.size(), 12u) << "the second write began with its fourth append";
  ASSERT_TRUE(rig.world.run_until([&] { return order.size() == 13; }));
  (void)value_of(rig.run(log->seal()));
}

// Write 1 hangs, write 2 is on disk: nothing is answered, and a start discards both. Once write 1
// is on disk and a later mark says so, its damage is damage.
TEST_F(LogTest, AWholeBatchBehindATornOneIsNoDataUntilBothAreOnDisk) {
  StoreRig rig(disk, 1, {.min_latency_us = 100, .max_latency_us = 100});
  auto log = create(rig);
  rig.world.run_for_us(10'000);
  expect_ok(rig.rules.add("write path=log/* nth=1 hang"));
  Append& torn = append(*log, "torn");
  rig.world.run_for_us(10);
  Append& whole = append(*log, "whole");
  Append& memory = append(*log, "memory", Durability::memory);
  rig.world.run_for_us(5'000);
  EXPECT_FALSE(torn.is_done || whole.is_done || memory.is_done);
  EXPECT_EQ(log->durable_end(), kLogBegin);
  {
    auto image = disk.clone();
    Collector seen;
    const auto report = value_of(read(*image, seen));
    EXPECT_TRUE(seen.seen.empty());
    EXPECT_EQ(report.torn_tail_bytes, 2u * 4096) << "the hole and the batch behind it";
  }
  rig.fs->release_hung();
  rig.world.run_for_us(500);
  EXPECT_TRUE(torn.ok() && whole.ok() && memory.ok());
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
  rig.world.run_for_us(200'000);
  (void)expect_first_entry_is_guarded();
  (void)value_of(rig.run(log->seal()));
}

TEST_F(LogTest, AFailedWriteFailsTheOnesThatOvertookToo) {
  StoreRig rig(disk, 1, {.min_latency_us = 1000, .max_latency_us = 1000});
  auto log = create(rig);
  rig.world.run_for_us(10'000);
  expect_ok(rig.rules.add("write path=log/* nth=1 delay_us=3000 error=EIO"));
  Append& failed = append(*log, "failed");
  rig.world.run_for_us(10);
  Append& behind = append(*log, "behind");
  rig.world.run_for_us(2'000);
  EXPECT_FALSE(behind.is_done) << "its own write has completed";
  ASSERT_TRUE(rig.world.run_until([&] { return behind.is_done; }));
  EXPECT_NE(failed.failure, nullptr);
  EXPECT_NE(behind.failure, nullptr);
  EXPECT_EQ(log->durable_end(), kLogBegin);
  Collector seen;
  (void)value_of(read(disk, seen));
  EXPECT_TRUE(seen.seen.empty());
  EXPECT_FALSE(rig.run(log->seal()));
}

TEST_F(LogTest, LargeBatchesAreWrittenSeveralAtATime) {
  LogOptions options = small_log();
  options.segment_bytes = 4u << 20;
  options.batch_bytes = 2 * kLargeBatchBytes;
  StoreRig rig(disk, 1, {.min_latency_us = 1000, .max_latency_us = 1000});
  auto log = create(rig, options);
  for (size_t i = 0; i < kWritesInFlight; ++i) {
    append(*log, payload_of(i, kLargeBatchBytes));
    rig.world.run_for_us(100);
  }
  rig.world.run_for_us(900);
  for (const Append& one : appends) EXPECT_TRUE(one.ok()) << one.number;
  (void)value_of(rig.run(log->seal()));
}

TEST_F(LogTest, AnEntryBeyondTheLimitIsRefused) {
  StoreRig rig(disk);
  auto log = create(rig);
  const std::string huge(kMaxLogEntryBytes + 1, 'x');
  Append a(order, 0);
  const auto refused = log->append(entry_of(0, huge), a);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::invalid_argument);
  (void)value_of(rig.run(log->seal()));
}

}  // namespace
}  // namespace cellar::engine
