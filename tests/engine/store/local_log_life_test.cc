// Trimming and removal of a local log: trimmed segments are reused, and a removed log stays removed
// even if the removal was interrupted.
#include <deque>

#include "engine/record/file_header.h"
#include "engine/store/file/record_file.h"
#include "engine/store/log/local_log_store.h"
#include "engine/store/log/log_files.h"
#include "tests/engine/store/local_log_bed.h"

namespace cellar::engine {
namespace {

// Segments are trimmed continuously while the disk is slow to confirm it.
TEST_F(LogTest, AppendsDoNotWaitForATrimThatIsNotOnDisk) {
  StoreRig rig(disk, 1, {.min_latency_us = 200'000, .max_latency_us = 200'000});
  auto log = create(rig);
  for (size_t i = 0; i < 20; ++i) append(*log, payload_of(i, 10'000));
  rig.world.run_for_us(60'000'000);
  ASSERT_TRUE(appends.back().ok());
  const uint64_t before = log->needed_bytes();
  log->trim(appends[19].end);
  for (int ms = 0; ms < 150; ++ms) {
    const Append& one = append(*log, "x", ms % 2 == 0 ? Durability::periodic : Durability::memory);
    rig.world.run_for_us(1000);
    EXPECT_TRUE(one.ok()) << ms;
  }
  EXPECT_EQ(log->needed_bytes(), before) << "segments went before the disk knew of it";
  const Append& synced = append(*log, "x");
  const Append& behind = append(*log, "x", Durability::periodic);
  rig.world.run_for_us(1000);
  EXPECT_FALSE(synced.is_done || behind.is_done);
  rig.world.run_for_us(60'000'000);
  EXPECT_TRUE(synced.ok() && behind.ok());
  EXPECT_LT(log->needed_bytes(), before);
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
    const uint64_t before = log->needed_bytes();
    from = appends[29].end;
    log->trim(from);
    log->trim(appends[10].end);  // a trim cannot be undone
    rig.world.run_until_idle();
    EXPECT_EQ(log->needed_bytes(), before - 4 * small_log().segment_bytes);
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
  // From the beginning: the remaining entries, because the log records its trims.
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
  const uint64_t before = log->needed_bytes();
  log->trim(appends[9].end);
  log->trim(appends[29].end);
  rig.world.run_for_us(100'000);
  EXPECT_GE(before, 6 * small_log().segment_bytes);
  EXPECT_LE(log->needed_bytes(), 3 * small_log().segment_bytes)
      << "where it writes, a spare, and what a record of the trim may have begun";
  (void)value_of(rig.run(log->seal()));
}

// The entries at this position are not written yet.
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

// The cost of an endless log: its segments rotate, and only the first ones are filled with zeros.
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
    EXPECT_LE(log->needed_bytes(), 4 * small_log().segment_bytes);
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
  EXPECT_EQ(report.torn_tail_bytes, 0u);  // the remains of earlier segments are not a torn tail
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

// Seen by a start from the image: the log is complete or absent, now and in later starts.
TEST_F(LogTest, ARemovalIsAllOrNothingWheneverThePowerFails) {
  constexpr size_t kEntries = 20;
  {
    StoreRig rig(disk);
    auto log = create(rig);
    for (size_t i = 0; i < kEntries; ++i) append(*log, payload_of(i, 10'000));
    (void)value_of(rig.run(log->seal()));
  }
  // A segment that was being prepared.
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

}  // namespace
}  // namespace cellar::engine
