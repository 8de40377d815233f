// Entries before a position of the log leave the disk on demand, together with the earlier contents
// of the files.
#include <deque>

#include "engine/store/log/local_log_store.h"
#include "tests/engine/store/local_log_bed.h"

namespace cellar::engine {
namespace {

class LogErase : public LogTest {
 protected:
  static constexpr int64_t kWhileUs = 60'000'000;

  // The numbers of the entries of which some part is in a file.
  std::vector<size_t> found() {
    std::vector<size_t> numbers;
    std::string all;
    for (const std::string& path : disk.all_files())
      if (path.starts_with("log/")) all += value_of(disk.read_all(path));
    for (size_t i = 0; i < appends.size(); ++i) {
      if (all.find(fmt::format("<{}:", i)) != std::string::npos) numbers.push_back(i);
    }
    return numbers;
  }
  size_t files() {
    size_t count = 0;
    for (const std::string& path : disk.all_files()) count += path.ends_with(".seg");
    return count;
  }
  void write(StoreRig& rig, Log& log, size_t entries, size_t bytes) {
    for (size_t i = 0; i < entries; ++i) {
      append(log, payload_of(appends.size(), bytes));
      rig.world.run_until_idle();
    }
  }
  // Like maintenance, for everything appended so far.
  void clear(StoreRig& rig, Log& log, LogPosition before) {
    log.trim(before);
    const LogPosition needed = value_of(rig.run(log.erase(before)));
    EXPECT_GE(needed, before);
    log.trim(std::max(before, std::min(needed, log.end())));
    rig.world.run_for_us(kWhileUs);
  }
};

TEST_F(LogErase, ASegmentInUseIsEndedAndGoes) {
  LogPosition from;
  {
    StoreRig rig(disk);
    auto log = create(rig);
    write(rig, *log, 3, 2'000);
    EXPECT_EQ(found().size(), 3u);
    log->trim(log->end());
    rig.world.run_for_us(kWhileUs);
    EXPECT_EQ(found().size(), 3u) << "a trim alone leaves it";
    from = log->end();
    clear(rig, *log, from);
    EXPECT_TRUE(found().empty());
    EXPECT_EQ(files(), 2u);
    EXPECT_EQ(log->bytes_on_disk(), 2 * small_log().segment_bytes);
    Append& more = append(*log, payload_of(3, 2'000));
    rig.world.run_until_idle();
    EXPECT_TRUE(more.ok());
    rig.world.crash();
  }
  Collector rest;
  EXPECT_EQ(value_of(read(disk, rest, from)).torn_tail_bytes, 0u);
  ASSERT_EQ(rest.seen.size(), 1u);
  EXPECT_EQ(rest.seen[0].payload, payload_of(3, 2'000));
}

TEST_F(LogErase, WhatKeptAndReusedSegmentsHeldGoes) {
  StoreRig rig(disk);
  auto log = create(rig);
  write(rig, *log, 300, 5'000);
  log->trim(log->end());
  rig.world.run_for_us(kWhileUs);
  write(rig, *log, 15, 5'000);  // one of the kept segments is in use
  EXPECT_GE(log->bytes_on_disk(), log->needed_bytes() + 2 * small_log().segment_bytes);
  EXPECT_GT(found().size(), 40u);
  clear(rig, *log, log->end());
  EXPECT_TRUE(found().empty());
  (void)value_of(rig.run(log->seal()));
}

// The bytes after the position are recent, and the files are reused as usual.
TEST_F(LogErase, ABusyLogHasNothingToErase) {
  StoreRig rig(disk);
  auto log = create(rig);
  write(rig, *log, 300, 5'000);
  log->trim(log->end());
  rig.world.run_for_us(kWhileUs);
  const uint64_t kept = 4 * small_log().segment_bytes;
  EXPECT_EQ(log->bytes_on_disk(), log->needed_bytes() + kept);
  const LogPosition end = log->end();
  (void)value_of(rig.run(log->erase(appends[100].end)));
  rig.world.run_for_us(kWhileUs);
  EXPECT_EQ(log->end(), end) << "nothing was filled up";
  EXPECT_EQ(log->bytes_on_disk(), log->needed_bytes() + kept);
  for (const size_t number : found()) EXPECT_GT(number, 100u);
  (void)value_of(rig.run(log->seal()));
}

TEST_F(LogErase, WhatIsStillNeededStays) {
  LogPosition from;
  {
    StoreRig rig(disk);
    auto log = create(rig);
    write(rig, *log, 40, 5'000);
    from = appends[19].end;
    log->trim(from);
    const LogPosition needed = value_of(rig.run(log->erase(log->end())));
    EXPECT_GE(needed, appends.back().end);
    rig.world.run_for_us(kWhileUs);
    rig.world.crash();
  }
  Collector rest;
  (void)value_of(read(disk, rest, from));
  ASSERT_EQ(rest.seen.size(), 20u);
}

TEST_F(LogErase, AppendsGoOnMeanwhile) {
  StoreRig rig(disk, 1, {.min_latency_us = 200, .max_latency_us = 200});
  auto log = create(rig);
  for (size_t i = 0; i < 20; ++i) append(*log, payload_of(appends.size(), 2'000));
  rig.world.run_for_us(1'000'000);
  const LogPosition before = log->end();
  bool erased = false;
  spawn(rig.loop.executor(), [](Log& of, LogPosition at, bool& done) -> Async<void> {
    auto needed = co_await of.erase(at);
    EXPECT_TRUE(needed);
    done = true;
  }(*log, before, erased));
  size_t meanwhile = 0;
  while (!erased && meanwhile < 1'000) {
    const Append& one = append(*log, payload_of(appends.size(), 100));
    rig.world.run_for_us(1'500);
    EXPECT_TRUE(one.ok());
    ++meanwhile;
  }
  EXPECT_TRUE(erased);
  EXPECT_GT(meanwhile, 1u);
  (void)value_of(rig.run(log->seal()));
}

TEST_F(LogErase, AFullDiskDelaysItAndAppendsDoNotSuffer) {
  StoreRig rig(disk);
  auto log = create(rig);
  write(rig, *log, 3, 2'000);
  disk.set_bytes_limit(disk.used_bytes());
  // The spare is ready: the segment is closed, and only the next one is left.
  log->trim(log->end());
  bool erased = false;
  spawn(rig.loop.executor(), [](Log& of, bool& done) -> Async<void> {
    auto needed = co_await of.erase(of.end());
    EXPECT_TRUE(needed || needed.error().code == Errc::cancelled);
    done = true;
  }(*log, erased));
  rig.world.run_for_us(kWhileUs);
  const Append& one = append(*log, payload_of(appends.size(), 100));
  rig.world.run_for_us(kWhileUs);
  EXPECT_TRUE(one.ok());
  log->give_up_erasing();
  rig.world.run_for_us(kWhileUs);
  EXPECT_TRUE(erased);
  (void)value_of(rig.run(log->seal()));
}

}  // namespace
}  // namespace cellar::engine
