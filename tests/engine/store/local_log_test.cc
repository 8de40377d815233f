#include <deque>

#include "engine/record/file_header.h"
#include "engine/store/local_log_store.h"
#include "engine/store/log_files.h"
#include "engine/store/record_file.h"
#include "tests/engine/store/store_rig.h"

namespace cellar::engine {
namespace {

struct LogTest : testing::Test {
  std::unique_ptr<Log> create(StoreRig& rig, LogOptions options = small_log()) {
    LocalLogStore store(*rig.fs, rig.runtime, options);
    return value_of(rig.run(store.create(kLog)));
  }
  Append& append(Log& log, const std::string& payload, Durability level = Durability::sync) {
    const int number = static_cast<int>(appends.size());
    Append& a = appends.emplace_back(order, number, level);
    expect_ok(log.append(entry_of(static_cast<uint64_t>(number), payload), a));
    return a;
  }
  Result<LogReadReport> read(MemDisk& from_disk, Collector& into, LogPosition from = kLogBegin) {
    StoreRig rig(from_disk);
    LocalLogStore store(*rig.fs, rig.runtime, small_log());
    return rig.run(store.read(kLog, from, into));
  }
  void expect_all_appended(const Collector& seen) {
    ASSERT_EQ(seen.seen.size(), payloads.size());
    for (size_t i = 0; i < payloads.size(); ++i) EXPECT_EQ(seen.seen[i].payload, payloads[i]);
  }

  MemDisk disk;
  std::deque<Append> appends;
  std::vector<int> order;
  std::vector<std::string> payloads;
};

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
  // From every entry's end on, exactly what follows it.
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
  // 50 entries of 57 bytes are one block, not fifty.
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
  // Damage of the acknowledged entry is told from a torn tail now.
  auto image = disk.clone();
  expect_ok(image->corrupt("log/0000000000030001-00000000.seg", 4096 + 30, 1));
  Collector seen;
  const auto damaged = read(*image, seen);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, Errc::data_loss);
  EXPECT_NE(damaged.error().message.find("00000000.seg is damaged at 4096"), std::string::npos)
      << damaged.error().message;
  rig.world.run_for_us(10'000'000);
  EXPECT_EQ(log->durable_end().value(), marked_end);
  (void)value_of(rig.run(log->seal()));
}

TEST_F(LogTest, AMarkInTheMiddleOfABatchCountsWhenTheBytesBeforeItAreDamaged) {
  StoreRig rig(disk, 1, {.min_latency_us = 1000, .max_latency_us = 1000});
  auto log = create(rig);
  Append& first = append(*log, "first");
  rig.world.run_for_us(500);
  // Opens the next batch while nothing is durable yet, so that batch begins with a mark of 0.
  append(*log, "second", Durability::memory);
  ASSERT_TRUE(rig.world.run_until([&] { return first.is_done; }));
  rig.world.run_for_us(100'000);
  auto image = disk.clone();
  expect_ok(image->corrupt("log/0000000000030001-00000000.seg", 4096 + 30, 1));
  Collector seen;
  const auto damaged = read(*image, seen);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, Errc::data_loss);
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
  // The next write would work, but nobody may try.
  Append late(order, 99);
  const auto refused = log->append(entry_of(1, "late"), late);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unavailable);
  EXPECT_EQ(refused.error().applied, Applied::not_applied);
  EXPECT_FALSE(rig.run(log->sync()));
  EXPECT_FALSE(rig.run(log->seal()));
  EXPECT_EQ(rig.rules.hits(), 1u);
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
  EXPECT_GT(i, 16u);  // what was ready could still be used
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
  // Accepted because nothing is known of the full disk yet; needs more than is ready.
  Append& large = append(*log, payload_of(1, 240'000));
  rig.world.run_for_us(100'000);
  EXPECT_FALSE(large.is_done);
  EXPECT_FALSE(rig.run(log->seal()));
  EXPECT_TRUE(large.is_done);
  EXPECT_NE(large.failure, nullptr);
}

// Segments are given back all the time, and the disk may take long to say so.
TEST_F(LogTest, AppendsDoNotWaitForATrimThatIsNotOnDisk) {
  StoreRig rig(disk, 1, {.min_latency_us = 200'000, .max_latency_us = 200'000});
  auto log = create(rig);
  for (size_t i = 0; i < 20; ++i) append(*log, payload_of(i, 10'000));
  rig.world.run_for_us(60'000'000);
  ASSERT_TRUE(appends.back().ok());
  const uint64_t before = log->bytes_on_disk();
  log->trim(appends[19].end);
  for (int ms = 0; ms < 150; ++ms) {
    const Append& one = append(*log, "x", ms % 2 == 0 ? Durability::periodic : Durability::memory);
    rig.world.run_for_us(1000);
    EXPECT_TRUE(one.ok()) << ms;
  }
  EXPECT_EQ(log->bytes_on_disk(), before) << "segments went before the disk knew of it";
  const Append& synced = append(*log, "x");
  const Append& behind = append(*log, "x", Durability::periodic);
  rig.world.run_for_us(1000);
  EXPECT_FALSE(synced.is_done || behind.is_done);
  rig.world.run_for_us(60'000'000);
  EXPECT_TRUE(synced.ok() && behind.ok());
  EXPECT_LT(log->bytes_on_disk(), before);
  for (size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], static_cast<int>(i));
  (void)value_of(rig.run(log->seal()));
}

TEST_F(LogTest, TrimmedSegmentsGoAndTheRestIsReadFromThere) {
  LogPosition from;
  {
    StoreRig rig(disk);
    auto log = create(rig);
    for (size_t i = 0; i < 40; ++i) {
      append(*log, payload_of(i, 10'000));
      rig.world.run_until_idle();
    }
    const uint64_t before = log->bytes_on_disk();
    from = appends[29].end;
    log->trim(from);
    log->trim(appends[10].end);  // no way back
    rig.world.run_until_idle();
    EXPECT_EQ(log->bytes_on_disk(), before - 4 * small_log().segment_bytes);
    Append& more = append(*log, "more");
    rig.world.run_until_idle();
    EXPECT_TRUE(more.ok());
    (void)value_of(rig.run(log->seal()));
  }
  EXPECT_FALSE(disk.read_all("log/0000000000030001-00000000.seg"));
  Collector rest;
  (void)value_of(read(disk, rest, from));
  ASSERT_EQ(rest.seen.size(), 11u);
  EXPECT_EQ(rest.seen[0].payload, payload_of(30, 10'000));
  // From the beginning: what is still there, because the log itself says what was trimmed.
  Collector all;
  (void)value_of(read(disk, all));
  EXPECT_GE(all.seen.size(), 11u);
  EXPECT_EQ(all.seen.back().payload, "more");
}

TEST_F(LogTest, ATrimDuringATrimIsMadeUpFor) {
  StoreRig rig(disk, 1, {.min_latency_us = 100, .max_latency_us = 100});
  auto log = create(rig);
  for (size_t i = 0; i < 30; ++i) {
    append(*log, payload_of(i, 10'000));
    rig.world.run_for_us(100'000);
  }
  const uint64_t before = log->bytes_on_disk();
  log->trim(appends[9].end);
  log->trim(appends[29].end);
  rig.world.run_for_us(100'000);
  EXPECT_GE(before, 6 * small_log().segment_bytes);
  EXPECT_LE(log->bytes_on_disk(), 3 * small_log().segment_bytes)
      << "where it writes, a spare, and what a record of the trim may have begun";
  (void)value_of(rig.run(log->seal()));
}

// Nobody knows yet what will lie there.
TEST_F(LogTest, ATrimBehindTheEndTakesNothingOfWhatComes) {
  {
    StoreRig rig(disk);
    auto log = create(rig);
    append(*log, "first");
    rig.world.run_until_idle();
    log->trim(kLogEnd);
    for (size_t i = 1; i <= 40; ++i) {
      append(*log, payload_of(i, 10'000));
      rig.world.run_until_idle();
    }
    rig.world.crash();
  }
  Collector rest;
  (void)value_of(read(disk, rest, appends[0].end));
  ASSERT_EQ(rest.seen.size(), 40u);
  EXPECT_EQ(rest.seen[0].payload, payload_of(1, 10'000));
}

// What a log that goes on and on costs: its segments take turns, and only the first are filled with
// zeros.
TEST_F(LogTest, TrimmedSegmentsAreUsedAgainAndWhatTheyHeldIsNeverRead) {
  constexpr size_t kEntries = 400;
  constexpr size_t kKept = 10;
  {
    StoreRig rig(disk);
    auto log = create(rig);
    for (size_t i = 0; i < kEntries; ++i) {
      append(*log, payload_of(i, 5'000));
      rig.world.run_until_idle();
      if (i >= kKept) log->trim(appends[i - kKept].end);
    }
    rig.world.run_until_idle();
    EXPECT_LE(log->bytes_on_disk(), 4 * small_log().segment_bytes);
    rig.world.crash();
  }
  size_t reused = 0;
  for (const std::string& path : disk.all_files()) {
    if (!path.ends_with(".seg")) continue;
    const auto header =
        value_of(decode_file_header(value_of(disk.read_all(path)), RecordFileKind::log, path));
    if (header.former) EXPECT_LT(*header.former, header.number) << path;
    reused += header.former.has_value();
  }
  EXPECT_GE(reused, 3u);
  Collector rest;
  const auto report = value_of(read(disk, rest, appends[kEntries - kKept - 1].end));
  ASSERT_EQ(rest.seen.size(), kKept);
  EXPECT_EQ(rest.seen.front().payload, payload_of(kEntries - kKept, 5'000));
  EXPECT_EQ(report.torn_tail_bytes, 0u);  // what is left of former segments is no tail
}

TEST_F(LogTest, WhatComesDuringASmallWriteSharesTheNext) {
  StoreRig rig(disk, 1, {.min_latency_us = 1000, .max_latency_us = 1000});
  auto log = create(rig);
  Append& first = append(*log, "first");
  rig.world.run_for_us(100);
  Append& second = append(*log, "second");
  rig.world.run_for_us(100);
  Append& third = append(*log, "third");
  rig.world.run_for_us(900);
  EXPECT_TRUE(first.ok());
  EXPECT_FALSE(second.is_done);
  ASSERT_TRUE(rig.world.run_until([&] { return second.is_done; }));
  EXPECT_TRUE(third.ok());
  (void)value_of(rig.run(log->seal()));
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

TEST_F(LogTest, IdsAreNotReusedAndARemovedLogIsGone) {
  StoreRig rig(disk);
  LocalLogStore store(*rig.fs, rig.runtime, small_log());
  auto log = value_of(rig.run(store.create(kLog)));
  const auto again = rig.run(store.create(kLog));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Errc::already_exists);
  const LogId other = make_log_id(SessionEpoch{3}, 0);
  auto second = value_of(rig.run(store.create(other)));
  EXPECT_EQ(value_of(rig.run(store.list())), (std::vector<LogId>{other, kLog}));
  (void)value_of(rig.run(log->seal()));
  (void)value_of(rig.run(second->seal()));
  expect_ok(rig.run(store.fence(kLog)));
  expect_ok(rig.run(store.remove(kLog)));
  expect_ok(rig.run(store.remove(kLog)));
  EXPECT_EQ(value_of(rig.run(store.list())), (std::vector<LogId>{other}));
  Collector seen;
  const auto read_back = rig.run(store.read(kLog, kLogBegin, seen));
  ASSERT_FALSE(read_back);
  EXPECT_EQ(read_back.error().code, Errc::not_found);
}

// A process that dies while it removes a log leaves the mark and some of the files.
TEST_F(LogTest, WhatARemovalThatWasCutShortHasLeftGoesWithTheNextStart) {
  StoreRig rig(disk);
  LocalLogStore store(*rig.fs, rig.runtime, small_log());
  const LogId other = make_log_id(SessionEpoch{3}, 0);
  for (const LogId id : {kLog, other}) {
    auto log = value_of(rig.run(store.create(id)));
    (void)value_of(rig.run(log->seal()));
  }
  EXPECT_EQ(value_of(rig.run(store.remove_litter())), 0u);
  expect_ok(rig.run(replace_file(*rig.fs, gone_path(kLog), std::string())));
  EXPECT_EQ(value_of(rig.run(store.list())), (std::vector<LogId>{other}));
  ASSERT_TRUE(value_of(rig.run(list_log_files(*rig.fs))).contains(kLog));
  EXPECT_EQ(value_of(rig.run(store.remove_litter())), 1u);
  const auto left = value_of(rig.run(list_log_files(*rig.fs)));
  EXPECT_FALSE(left.contains(kLog)) << "litter stays for good";
  EXPECT_TRUE(left.contains(other));
}

// As who starts from the image sees it: all of the log, or nothing of it, now and for good.
TEST_F(LogTest, ARemovalIsAllOrNothingWheneverThePowerFails) {
  constexpr size_t kEntries = 20;
  {
    StoreRig rig(disk);
    auto log = create(rig);
    for (size_t i = 0; i < kEntries; ++i) append(*log, payload_of(i, 10'000));
    (void)value_of(rig.run(log->seal()));
  }
  // One that was being prepared.
  ASSERT_TRUE(disk.write_all(segment_path(kLog, 9) + ".tmp", "zeros"));
  Random random(7);
  size_t whole = 0;
  size_t gone = 0;
  const auto look_at = [&](const MemDisk& at) {
    const auto image = at.crash_image(CrashPolicy::random_subset, random);
    StoreRig rig(*image);
    LocalLogStore store(*rig.fs, rig.runtime, small_log());
    (void)value_of(rig.run(store.remove_litter()));
    if (value_of(rig.run(store.list())).empty()) {
      ++gone;
      EXPECT_FALSE(value_of(rig.run(list_log_files(*rig.fs))).contains(kLog)) << "litter";
      return;
    }
    ++whole;
    Collector seen;
    EXPECT_EQ(value_of(rig.run(store.read(kLog, kLogBegin, seen))).entries, kEntries);
  };
  StoreRig rig(disk, 1, {.min_latency_us = 100, .max_latency_us = 100});
  LocalLogStore store(*rig.fs, rig.runtime, small_log());
  bool removed = false;
  spawn(rig.loop.executor(), [](LocalLogStore& from, bool& done) -> Async<void> {
    expect_ok(co_await from.remove(kLog));
    done = true;
  }(store, removed));
  rig.world.run_until([&] {
    look_at(disk);
    return removed;
  });
  for (int i = 0; i < 50; ++i) look_at(disk);
  EXPECT_GT(whole, 0u);
  EXPECT_GT(gone, 50u);
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
