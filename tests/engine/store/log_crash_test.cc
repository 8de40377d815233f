// S2 and S3 of the fault catalogue: the power fails after every step of a workload. Entries
// acknowledged at level sync survive, the entries found are a prefix, and nothing is damaged.
#include <deque>

#include "engine/store/log/local_log_store.h"
#include "tests/engine/store/store_rig.h"
#include "tests/support/seeds.h"

namespace cellar::engine {
namespace {

constexpr CrashPolicy kPolicies[] = {CrashPolicy::none, CrashPolicy::all,
                                     CrashPolicy::random_subset, CrashPolicy::torn_last_write};

LogOptions tiny_log() {
  LogOptions options;
  options.segment_bytes = 32u << 10;
  options.batch_bytes = 8u << 10;
  options.periodic_interval_us = 3'000;
  return options;
}

// Appends at random sizes, levels and moments, and records the acknowledgements.
struct Workload {
  Workload(uint64_t run_seed, MemDisk& disk, bool with_trims)
      : seed(run_seed),
        random(run_seed),
        trims(with_trims),
        rig(disk, run_seed, {.min_latency_us = 20, .max_latency_us = 400}),
        store(*rig.fs, rig.runtime, tiny_log()) {
    log = value_of(rig.run(store.create(kLog)));
  }
  ~Workload() { rig.world.crash(); }  // the process dies with the log as it is

  void step() {
    const size_t burst = 1 + random.below(4);
    for (size_t i = 0; i < burst; ++i) append_one();
    if (trims && random.one_in(5)) trim_some();
    if (erases && trimmed > 0 && random.one_in(8))
      spawn(rig.loop.executor(), erase(*log, appends[trimmed - 1].end));
    if (random.one_in(10)) moments = 200'000;  // long enough for a closing mark
  }

  static Async<void> erase(Log& log, LogPosition before) {
    auto needed = co_await log.erase(before);
    if (needed) log.trim(std::min(*needed, before));
  }

  void append_one() {
    const size_t size = random.one_in(12) ? random.below(50'000) : random.below(3'000);
    payloads.push_back(payload_of(payloads.size(), size));
    const auto level = static_cast<Durability>(random.below(3));
    Append& a = appends.emplace_back(order, static_cast<int>(appends.size()), level);
    expect_ok(log->append(entry_of(payloads.size() - 1, payloads.back()), a));
  }

  void trim_some() {
    size_t done = 0;
    while (done < appends.size() && appends[done].ok()) ++done;
    // Only durable entries may be trimmed.
    while (done > 0 && appends[done - 1].end > log->durable_end()) --done;
    if (done == 0) return;
    trimmed = std::max(trimmed, done);
    log->trim(appends[trimmed - 1].end);
  }

  // The number of entries that must be present.
  size_t promised() const {
    size_t count = trimmed;
    for (size_t i = 0; i < appends.size(); ++i) {
      const bool durable = log->durable_end() >= appends[i].end;
      if ((appends[i].level == Durability::sync && appends[i].ok()) || durable) count = i + 1;
    }
    return count;
  }

  const uint64_t seed;
  Random random;
  const bool trims;
  bool erases = false;
  std::vector<std::string> payloads;
  std::deque<Append> appends;
  std::vector<int> order;
  size_t trimmed = 0;  // entries that were given to trim()
  int64_t moments = 0;
  StoreRig rig;
  LocalLogStore store;
  std::unique_ptr<Log> log;
};

void expect_recovered(MemDisk& image, const Workload& work, size_t promised) {
  StoreRig rig(image);
  LocalLogStore store(*rig.fs, rig.runtime, tiny_log());
  const LogPosition from = work.trimmed == 0 ? kLogBegin : work.appends[work.trimmed - 1].end;
  Collector seen;
  const auto report = rig.run(store.read(kLog, from, seen));
  ASSERT_TRUE(report) << report.error().to_string();
  const size_t have = work.trimmed + seen.seen.size();
  EXPECT_GE(have, promised);
  ASSERT_LE(have, work.payloads.size());
  for (size_t i = 0; i < seen.seen.size(); ++i) {
    const size_t number = work.trimmed + i;
    ASSERT_EQ(seen.seen[i].payload, work.payloads[number]) << "entry " << number;
    ASSERT_EQ(seen.seen[i].end, work.appends[number].end);
    ASSERT_EQ(seen.seen[i].stamp, CommitStamp{1000 + number});
  }
  // From the beginning: the entries that the trims have left; the log records the trims.
  Collector all;
  const auto from_begin = rig.run(store.read(kLog, kLogBegin, all));
  ASSERT_TRUE(from_begin) << from_begin.error().to_string();
  ASSERT_LE(all.seen.size(), have);
  ASSERT_GE(all.seen.size(), seen.seen.size());
  for (size_t i = 0; i < all.seen.size(); ++i) {
    ASSERT_EQ(all.seen[i].payload, work.payloads[have - all.seen.size() + i]);
  }
}

// Runs the workload; every step of the world is followed by a check of the disk as a power cut
// would leave it.
size_t run_with_crashes(uint64_t seed, bool with_trims, size_t steps, bool with_erases = false) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  MemDisk disk;
  Workload work(seed, disk, with_trims);
  work.erases = with_erases;
  Random policies(seed + 1);
  size_t images = 0;
  const auto look = [&] {
    const CrashPolicy policy = kPolicies[policies.below(4)];
    const auto image = disk.crash_image(policy, policies);
    ++images;
    expect_recovered(*image, work, work.promised());
    return testing::Test::HasFatalFailure() || testing::Test::HasNonfatalFailure();
  };
  for (size_t i = 0; i < steps; ++i) {
    work.step();
    const int64_t us = work.moments > 0 ? std::exchange(work.moments, 0)
                                        : static_cast<int64_t>(work.random.below(900));
    if (work.rig.world.run_until(look, us)) break;
  }
  // The callbacks ran in order.
  for (size_t i = 0; i < work.order.size(); ++i) EXPECT_EQ(work.order[i], static_cast<int>(i));
  return images;
}

TEST(LogCrash, EveryAcknowledgedEntryIsThereAndWhatIsThereIsAPrefix) {
  size_t images = 0;
  for (uint64_t seed = 1; seed <= 12 && !testing::Test::HasFailure(); ++seed) {
    images += run_with_crashes(seed, false, 30);
  }
  EXPECT_GT(images, 2000u);
}

TEST(LogCrash, TrimmingIsSafeAtEveryStep) {
  size_t images = 0;
  for (uint64_t seed = 101; seed <= 112 && !testing::Test::HasFailure(); ++seed) {
    images += run_with_crashes(seed, true, 40);
  }
  EXPECT_GT(images, 2000u);
}

TEST(LogCrash, ErasingIsSafeAtEveryStep) {
  size_t images = 0;
  for (uint64_t seed = 201; seed <= 212 && !testing::Test::HasFailure(); ++seed) {
    images += run_with_crashes(seed, true, 40, true);
  }
  EXPECT_GT(images, 2000u);
}

TEST(LogCrash, ALogThatWasBeingMadeOrRemovedIsWholeOrGone) {
  for (const uint64_t seed : test_seeds(8)) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    MemDisk disk;
    Random policies(seed);
    StoreRig rig(disk, seed, {.min_latency_us = 20, .max_latency_us = 400});
    LocalLogStore store(*rig.fs, rig.runtime, tiny_log());
    std::deque<Append> appends;
    std::vector<int> order;
    bool removing = false;
    const auto look = [&] {
      const auto image = disk.crash_image(kPolicies[policies.below(4)], policies);
      StoreRig after(*image);
      LocalLogStore again(*after.fs, after.runtime, tiny_log());
      const auto logs = value_of(after.run(again.list()));
      Collector seen;
      const auto report = after.run(again.read(kLog, kLogBegin, seen));
      EXPECT_EQ(report.has_value(), !logs.empty());
      if (!report) EXPECT_EQ(report.error().code, Errc::not_found) << report.error().to_string();
      if (report && removing) EXPECT_EQ(seen.seen.size(), 20u);
      // The remains can be removed.
      expect_ok(after.run(again.remove(kLog)));
      EXPECT_TRUE(value_of(after.run(again.list())).empty());
      for (const std::string& path : image->all_files()) EXPECT_FALSE(path.ends_with(".seg"));
      return testing::Test::HasFailure();
    };
    std::unique_ptr<Log> log;
    bool finished = false;
    const auto whole_life = [&]() -> Async<void> {
      auto created = co_await store.create(kLog);
      log = value_of(std::move(created));
      for (int i = 0; i < 20; ++i) {
        Append& a = appends.emplace_back(order, i);
        expect_ok(log->append(entry_of(1, payload_of(1, 4'000)), a));
      }
      auto sealed = co_await log->seal();
      (void)value_of(std::move(sealed));
      removing = true;
      auto removed = co_await store.remove(kLog);
      expect_ok(removed);
      finished = true;
    };
    spawn(rig.loop.executor(), whole_life());
    rig.world.run_until([&] { return look() || finished; });
    EXPECT_TRUE(finished);
  }
}

}  // namespace
}  // namespace cellar::engine
