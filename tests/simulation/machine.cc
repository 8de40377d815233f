#include "tests/simulation/machine.h"

#include <fmt/format.h>

#include "engine/node/open_node.h"
#include "engine/store/local/format_file.h"
#include "io/base/check.h"
#include "net/server/requests/dispatch.h"

namespace cellar::simulation {

NodeLife::NodeLife(SimWorld& world, SimFabric& fabric, std::shared_ptr<MemDisk> disk,
                   std::shared_ptr<MemDisk> backups, const MachineClock& clock, LifeOptions options)
    : world_(world),
      fabric_(fabric),
      disk_(std::move(disk)),
      backups_disk_(std::move(backups)),
      clock_(clock),
      options_(std::move(options)),
      mailboxes_(options_.server.shards),
      parts_(options_.server.shards) {
  for (uint32_t i = 0; i < parts_.size(); ++i) add_part(parts_[i], i);
}

void NodeLife::add_part(Part& part, uint32_t i) {
  part.loop = &world_.add_loop();
  mailboxes_.attach(ShardId{i}, *part.loop);
  part.shard = std::make_unique<Shard>(ShardId{i}, *part.loop, mailboxes_.of(ShardId{i}), clock_,
                                       options_.seed * 31 + i);
  part.runtime.emplace(part.shard->runtime());
  MemFsOptions fs{.random = &part.shard->random(), .timers = &part.loop->timers()};
  fs.min_latency_us = options_.min_latency_us;
  fs.max_latency_us = options_.max_latency_us;
  part.fs = std::make_unique<FaultyFs>(part.loop->executor(),
                                       std::make_unique<MemFs>(part.loop->executor(), *disk_, fs),
                                       faults_, &part.loop->timers());
  engine::LogOptions log;
  log.segment_bytes = options_.segment_bytes;
  log.batch_bytes = 64u << 10;
  log.max_pending_bytes = 1u << 20;
  log.logs = options_.server.shards;
  part.stores = engine::make_local_stores(*part.fs, *part.runtime, log);
  part.logs = part.stores->make_logs();
  part.blobs = part.stores->make_blobs();
  part.network = std::make_unique<SimNetwork>(fabric_, *part.loop);
}

void NodeLife::start() { spawn(parts_[0].loop->executor(), run()); }

Async<void> NodeLife::run() { started_.emplace(co_await open()); }

Async<Result<void>> NodeLife::open() {
  const std::string id(32, '5');
  CO_TRY_VOID(co_await engine::resolve_format(*parts_[0].fs, id));
  std::vector<engine::ShardEnv> envs;
  for (Part& part : parts_) envs.push_back({*part.runtime, *part.logs, *part.blobs});
  CO_TRY(engine::OpenedNode opened,
         co_await engine::open_node(*parts_[0].stores, options_.server.engine, std::move(envs),
                                    mailboxes_));
  manifest_ = std::move(opened.manifest);
  node_ = std::move(opened.node);
  open_servers();
  if (cut_off_) co_return Result<void>();
  for (Part& part : parts_) {
    CO_TRY(auto listener, co_await part.network->listen(kHost, kPort, true));
    part.server->listen(std::move(listener));
  }
  fabric_.answer_stale(kHost);
  co_return Result<void>();
}

void NodeLife::open_servers() {
  server::NodeFacts facts{"test", "memory", "a simulation", "simulated", options_.seed | 1};
  shared_ = std::make_unique<server::NodeShared>(facts, options_.server, options_.seed);
  for (uint32_t i = 0; i < parts_.size(); ++i) {
    Part& part = parts_[i];
    part.server = std::make_unique<server::ShardServer>(
        *part.shard, *node_, options_.server, *shared_, clock_, server::request_handler());
    shared_->shards[i] = part.server.get();
  }
  backups_ = std::make_unique<server::BackupJobs>(
      *node_, *parts_[0].runtime, server::BackupJobs::Source{std::string(32, '5'), "test"},
      [this](DirectoryRequest request) { return open_backups(std::move(request)); });
  shared_->backups = backups_.get();
  disk_watch_ = std::make_unique<server::DiskWatch>(*parts_[0].server, *parts_[0].fs);
  disk_watch_->start();
  for (Part& part : parts_) part.server->set_disk(&disk_watch_->room());
  if (!options_.balancer || node_->read_only_start() != nullptr) return;
  balancer_ = std::make_unique<engine::Balancer>(*parts_[0].runtime, *node_, shards(),
                                                 options_.server.balance);
  balancer_->start();
}

Async<Result<server::OpenedPlace>> NodeLife::open_backups(DirectoryRequest /*request*/) {
  Loop& loop = *parts_[0].loop;
  MemFsOptions options{.random = &parts_[0].shard->random(), .timers = &loop.timers()};
  options.min_latency_us = options_.min_latency_us;
  options.max_latency_us = options_.max_latency_us;
  co_return server::make_directory_place(
      std::make_unique<MemFs>(loop.executor(), *backups_disk_, options));
}

bool NodeLife::read_only() const {
  for (const Part& part : parts_) {
    if (part.server->engine().stats().read_only) return true;
  }
  return node_->read_only_start() != nullptr;
}

void NodeLife::release_hung() {
  for (Part& part : parts_) part.fs->release_hung();
}

void NodeLife::cut_off(HostEnd how) {
  cut_off_ = true;
  fabric_.end_host(kHost, how);
  faults_.clear();
  release_hung();
}

void NodeLife::stop() {
  CHECK(!stopping_, "stopped twice");
  stopping_ = true;
  spawn(parts_[0].loop->executor(), end());
}

Async<void> NodeLife::stop_server(Part& part) {
  co_await part.server->stop();
  --serving_;
}

Async<void> NodeLife::end() {
  Timers& timers = parts_[0].loop->timers();
  while (!started_) co_await sleep_us(timers, 1'000);
  if (!*started_) {
    stopped_ = true;
    co_return;
  }
  if (balancer_) co_await balancer_->stop();
  co_await backups_->stop();
  serving_ = parts_.size();
  for (Part& part : parts_) spawn(part.loop->executor(), stop_server(part));
  while (serving_ > 0) co_await sleep_us(timers, 1'000);
  co_await disk_watch_->stop();
  closed_ = co_await node_->close();
  stopped_ = true;
}

// In the order of server.cc; a life that never stopped ends with its world only.
NodeLife::~NodeLife() {
  CHECK(stopped_, "a node is destroyed while it runs");
  for (Part& part : parts_) part.server.reset();
  balancer_.reset();
  disk_watch_.reset();
  backups_.reset();
  node_.reset();
  manifest_.reset();
  for (Part& part : parts_) part.loop->crash();
}

}  // namespace cellar::simulation
