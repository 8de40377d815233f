#include "tests/simulation/director.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/backup/backup.h"
#include "engine/store/local/unfinished_directory.h"

namespace cellar::simulation {

Director::Director(Stage& stage) : stage_(stage), clock_(stage.world.clock()) {
  Random random = stage.random_of("director", 0);
  shards_ = 1 + static_cast<uint32_t>(random.below(3));
}

Director::~Director() = default;

void Director::reap() {
  std::erase_if(dying_, [](const auto& life) { return life->stopped(); });
}

Async<void> Director::pause(Random& random, int64_t most_us) {
  const auto us = static_cast<int64_t>(random.below(static_cast<uint64_t>(most_us)));
  co_await sleep_us(stage_.loop.timers(), us);
}

LifeOptions Director::draw_options(Random& random) {
  LifeOptions options;
  Random fixed = stage_.random_of("options", 0);  // the same in every life
  server::ServerOptions& server = options.server;
  if (stage_.plan.has(Feature::shards)) shards_ = 1 + static_cast<uint32_t>(random.below(3));
  server.shards = shards_;
  server.engine.memory_bytes = 64u << 20;
  constexpr std::array<size_t, 4> kMemtables = {2u << 10, 16u << 10, 64u << 10, 1u << 20};
  server.engine.memtable_bytes = kMemtables.at(fixed.below(4));
  server.engine.table_bytes = fixed.one_in(2) ? 4u << 10 : 1u << 20;
  constexpr std::array<int64_t, 3> kMargins = {0, 1'000'000, 300'000'000};
  server.engine.removal_margin_us = kMargins.at(fixed.below(3));
  server.engine.periodic_interval_us = 20'000;
  if (fixed.one_in(3)) {
    server.engine.index_parts = engine::IndexParts::always;
    server.engine.index_part_bytes = 400;
  }
  // Short periods: the scrubber reads amid everything else.
  constexpr std::array<int64_t, 3> kScrubs = {2'000'000, 60'000'000, 7 * 86'400'000'000};
  server.engine.scrub_every_us = kScrubs.at(fixed.below(3));
  server.engine.log_segment_bytes = 256u << 10;
  server.backup.directories = "/backups";
  server.disk.reserve_bytes = 0;
  server.net.drain_timeout_us = 1'000'000;
  server.balance.interval_us = 500'000;
  server.balance.early_split_bytes = 64u << 10;
  server.balance.early_split_load = 5;
  server.balance.merge_idle_us = 20'000'000;
  options.balancer = stage_.plan.has(Feature::balancer);
  if (stage_.plan.has(Feature::disk_slow)) options.max_latency_us = 5'000;
  options.seed = random.next();
  return options;
}

Async<void> Director::begin() {
  Random random = stage_.random_of("director", 1);
  co_await start_until_it_serves(random);
}

// A start may fail only while a fault is in force.
Async<void> Director::start_until_it_serves(Random& random) {
  while (!stage_.problem) {
    disk_->set_bytes_limit(UINT64_MAX);
    life_ = std::make_unique<NodeLife>(stage_.world, stage_.fabric, disk_, backups_, clock_,
                                       draw_options(random));
    ++starts_;
    life_->start();
    if (stage_.plan.has(Feature::restarts) && starts_ > 1 && random.one_in(3)) {
      co_await pause(random, 3'000);
      cut_power(random);
      co_await pause(random, 1'000'000);
      continue;
    }
    int64_t waited_us = 0;
    while (!life_->started() && waited_us < 120'000'000) {
      co_await sleep_us(stage_.loop.timers(), 2'000);
      waited_us += 2'000;
    }
    if (!life_->started()) {
      stage_.complain("a start hangs");
      co_return;
    }
    if (*life_->started() && !life_->read_only()) co_return;
    const Result<void>& started = *life_->started();
    stage_.complain(started ? "a start is read-only, and the disk has room"
                            : "the node does not start: " + started.error().to_string());
  }
}

// ---- ends

void Director::draw_clock(Random& random, bool reboot) {
  const bool jumps = stage_.plan.has(Feature::wall_jumps) && !clock_is_right_;
  if (jumps && random.one_in(2)) {
    const auto error_us = static_cast<int64_t>(random.below(7'200'000'000)) - 3'600'000'000;
    clock_.set_wall_error_us(random.one_in(2) ? 0 : error_us);
  }
  // A kernel that calls a fast clock synchronised is believed, rightly: time would run ahead.
  const bool right = clock_.wall_error_us() <= 0;
  const bool boots = stage_.plan.has(Feature::boots);
  if (!right) clock_.set_synchronised(false);
  if (reboot) clock_.reboot(right && (!boots || random.one_in(2)));
}

void Director::cut_power(Random& random) {
  constexpr std::array kPolicies = {CrashPolicy::none, CrashPolicy::all, CrashPolicy::random_subset,
                                    CrashPolicy::torn_last_write};
  disk_ = life_->disk().crash_image(kPolicies.at(random.below(4)), random);
  Random other = stage_.random_of("backups", crashes_);
  backups_ = backups_->crash_image(kPolicies.at(other.below(4)), other);
  life_->cut_off(HostEnd::silent);
  stage_.history.add_crash();
  ++crashes_;
  life_->stop();
  dying_.push_back(std::move(life_));
  draw_clock(random, true);
}

void Director::kill() {
  disk_ = life_->disk().clone();
  backups_ = backups_->clone();
  life_->cut_off(HostEnd::reset);
  stage_.history.add_crash();
  ++crashes_;
  life_->stop();
  dying_.push_back(std::move(life_));
}

// A stop waits for the disk; a disk that hangs answers in the end.
Async<void> Director::wait_for_stop(NodeLife& life) {
  for (int64_t waited_us = 0; !life.stopped(); waited_us += 2'000) {
    co_await sleep_us(stage_.loop.timers(), 2'000);
    if (waited_us == 20'000'000) life.faults().clear();
    if (waited_us >= 20'000'000) life.release_hung();
  }
}

Async<void> Director::restart(Random& random, bool orderly) {
  if (orderly) {
    disk_ = life_->shared_disk();
    NodeLife& old = *life_;
    old.stop();
    co_await wait_for_stop(old);
    stage_.fabric.end_host(kHost, HostEnd::reset);
    // One that cannot close leaves what a crash leaves.
    if (!old.closed()) stage_.history.add_crash();
    dying_.push_back(std::move(life_));
  } else if (stage_.plan.has(Feature::power) &&
             (!stage_.plan.has(Feature::kills) || random.one_in(2))) {
    cut_power(random);
  } else {
    kill();
  }
  faulty_ = false;
  if (random.one_in(2)) co_await pause(random, 4'000'000);
  co_await start_until_it_serves(random);
}

// ---- faults

Async<void> Director::network_faults(Random& random) {
  const Plan& plan = stage_.plan;
  LinkFaults& faults = stage_.fabric.faults();
  faults = {};
  if (plan.has(Feature::jitter)) {
    faults.jitter_us = static_cast<int64_t>(random.below(random.one_in(3) ? 50'000 : 2'000));
  }
  if (plan.has(Feature::cuts) && random.one_in(3)) faults.cut_after_bytes = random.below(30'000);
  if (plan.has(Feature::half_open) && random.one_in(4)) {
    faults.half_open_after_bytes = random.below(30'000);
  }
  for (uint64_t left = random.below(4); left > 0; --left) {
    co_await pause(random, 20'000);
    if (plan.has(Feature::cuts) && random.one_in(2)) stage_.fabric.cut_one();
    if (plan.has(Feature::half_open) && random.one_in(3)) stage_.fabric.silence_one();
    if (plan.has(Feature::refusals) && random.one_in(3)) {
      faults.refuse = true;
      co_await pause(random, 500'000);
      faults.refuse = false;
    }
  }
}

void Director::disk_faults(Random& random) {
  const Plan& plan = stage_.plan;
  const auto add = [&](const std::string& rule) {
    const Result<void> added = life_->faults().add(rule);
    CHECK(added, "{}", added.error().message);
    faulty_ = true;
  };
  constexpr std::array kPaths = {"log/*", "blob/*", "manifest/*", "*"};
  const auto place = [&] {
    return fmt::format("path={} nth={}", kPaths.at(random.below(4)), 1 + random.below(12));
  };
  if (plan.has(Feature::disk_errors) && random.one_in(2)) {
    constexpr std::array kErrors = {
        "write {} error=EIO",          "sync {} error=EIO", "sync {} drop",
        "read {} error=EIO",           "write {} short",    "* {} error=EIO",
        "write {} error=ENOSPC sticky"};
    add(fmt::format(fmt::runtime(kErrors.at(random.below(7))), place()));
  }
  if (plan.has(Feature::disk_hangs) && random.one_in(3)) {
    add(fmt::format("{} {} hang", random.one_in(2) ? "write" : "sync", place()));
  }
  if (plan.has(Feature::disk_full) && random.one_in(3)) {
    MemDisk& disk = life_->disk();
    disk.set_bytes_limit(disk.used_bytes() + random.below(600'000));
    faulty_ = true;
  }
}

Async<void> Director::crash_amid(Random& random) {
  const Plan& plan = stage_.plan;
  const bool crashes = plan.has(Feature::power) || plan.has(Feature::kills);
  const bool stops = plan.has(Feature::stops);
  if ((!crashes && !stops) || random.one_in(3)) co_return;
  co_await pause(random, random.one_in(2) ? 3'000 : 40'000);
  for (uint64_t turns = random.below(30); turns > 0; --turns) co_await yield_now();
  co_await restart(random, stops && (!crashes || random.one_in(4)));
}

Async<void> Director::beat(uint32_t number) {
  Random random = stage_.random_of("director", number + 2);
  if (stage_.plan.has(Feature::wall_jumps) && random.one_in(2)) draw_clock(random, false);
  disk_faults(random);
  Random network = stage_.random_of("network", number + 2);
  co_await network_faults(network);
  co_await crash_amid(random);
}

Async<void> Director::settle(uint32_t number) {
  Random random = stage_.random_of("settle", number);
  stage_.fabric.faults() = {};
  if (!faulty_ || stage_.problem) co_return;
  life_->faults().clear();
  life_->release_hung();
  life_->disk().set_bytes_limit(UINT64_MAX);
  co_await sleep_us(stage_.loop.timers(), 1'000'000);
  if (!life_->read_only() && random.one_in(2)) co_return;
  co_await restart(random, random.one_in(3));
}

Async<void> Director::begin_from(std::string backup) {
  // Trusted time of the old node, which the new one must not be behind, may have run 500 ppm fast.
  co_await sleep_us(stage_.loop.timers(), (stage_.now_us() - stage_.began_us) / 1'000 + 1'000'000);
  // A new node has no anchor: it believes the clock that it finds.
  clock_.set_wall_error_us(0);
  clock_.set_synchronised(true);
  clock_is_right_ = true;
  disk_ = std::make_shared<MemDisk>();
  MemFs from(stage_.loop.executor(), *backups_);
  MemFs to(stage_.loop.executor(), *disk_);
  const Result<void> restored = co_await restore_all(from, to, std::move(backup));
  if (!restored) {
    stage_.complain("the backup is not restored: " + restored.error().to_string());
    co_return;
  }
  Random random = stage_.random_of("new node", 0);
  co_await start_until_it_serves(random);
}

Async<Result<void>> Director::restore_all(FileSystem& from, FileSystem& to, std::string backup) {
  CO_TRY_VOID(co_await engine::begin_directory(to));
  const auto store = engine::make_local_backup_store(from);
  const auto blobs = engine::make_local_blob_store(to);
  CO_TRY(const auto manifest, co_await engine::open_local_manifest_store(to, {}));
  engine::BackupProgress progress;
  const auto done = co_await engine::restore_directory(*store, std::move(backup), *blobs, *manifest,
                                                       clock_.wall_us(), stage_.loop.timers(),
                                                       stage_.loop.executor(), progress);
  const Result<void> closed = co_await manifest->close();
  if (!done) co_return std::unexpected(done.error());
  CO_TRY_VOID(closed);
  co_return co_await engine::finish_directory(to, std::string(32, '5'));
}

Async<void> Director::end() {
  life_->stop();
  while (!life_->stopped()) co_await sleep_us(stage_.loop.timers(), 2'000);
  if (!life_->closed()) {
    stage_.complain("the node does not close: " + life_->closed().error().to_string());
  }
  disk_ = life_->shared_disk();
  dying_.push_back(std::move(life_));
}

}  // namespace cellar::simulation
