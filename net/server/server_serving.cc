// Server: from an open engine to a serving node: the listeners and the components beside the
// shards.
#include "io/base/log.h"
#include "io/base/time_text.h"
#include "io/runtime/descriptors.h"
#include "io/runtime/machine_memory.h"
#include "net/server/exposure.h"
#include "net/server/server.h"
#include "net/server/slow_log.h"

namespace cellar::server {

// Shard 0 listens first: with port 0 it determines the port of all. The shards share one port, and
// the kernel would let another process of the same user share it and take half of the connections,
// so the port is first bound exclusively.
Result<void> Server::open_listeners() {
  TRY(Address address, parse_address(options_.listen));
  for (uint32_t i = 0; i < options_.shards; ++i) {
    pool_.run_on(ShardId{i}, [this, &address](Shard& shard) { return bind(shard, address); });
    TRY_VOID(first_error());
    address.port = states_[i].listener->port();
  }
  address_ = states_[0].listener->address();
  // The host name may have resolved to another kind of address.
  TRY_VOID(check_exposure(address_, options_.security));
  // Requests on every shard use these, so set them before the first connection is accepted.
  bound_connections();
  check_memory();
  start_backups();
  start_disk_watch();
  pool_.run_on_all([this](Shard& shard) -> Async<void> {
    ShardServer& server = *state(shard).server;
    server.meter().slow().listen(
        [id = shard.id().value()](const SlowRequest& one) { log_slow_request(one, id); });
    server.listen(std::move(state(shard).listener));
    co_return;
  });
  pool_.run_on(ShardId{0}, [this](Shard& shard) { return open_agent(shard); });
  TRY_VOID(first_error());
  const Error* read_only = node_->read_only_start();
  if (read_only != nullptr && readiness_ != nullptr) {
    std::string when;
    pool_.run_on(ShardId{0}, [&when](Shard& shard) -> Async<void> {
      when = told_time(shard.clock().now_us());
      co_return;
    });
    readiness_->start_read_only(fmt::format("{}; answers are as of {}, where trusted time stands",
                                            read_only->message, when));
  }
  start_balancer();
  start_beats();
  return {};
}

// If the control group permits less than the node may use, the kernel can kill the node at any
// time.
void Server::check_memory() const {
  const uint64_t there = machine_memory_bytes();
  const uint64_t bound = resident_bound_bytes(options_.engine.memory_bytes);
  if (there == 0 || bound <= there) return;
  log_warn("server",
           "memory.total may be too much for this machine or control group memory_total={} "
           "takes_at_most={} machine={}",
           options_.engine.memory_bytes, bound, there);
}

// Limits connections so that descriptors remain for files; without them nothing can be flushed or
// merged.
void Server::bound_connections() {
  const uint64_t limit = raise_descriptor_limit();
  const Result<uint64_t> in_use = descriptors_in_use();
  if (limit == 0 || !in_use) return;
  const uint32_t wanted = options_.net.connections;
  const DescriptorPlan plan = plan_descriptors(limit, *in_use, options_.shards, wanted);
  if (plan.connections < wanted) {
    log_warn("server",
             "fewer connections than limits.connections: the limit of open files is too low "
             "limit={} open={} kept_for_files={} connections_per_shard={} wanted={}",
             limit, *in_use, plan.files, plan.connections, wanted);
  }
  pool_.run_on_all([this, limit, used = *in_use](Shard& shard) -> Async<void> {
    constexpr uint32_t kAny = UINT32_MAX;
    const DescriptorPlan most = plan_descriptors(limit, used, options_.shards, kAny);
    state(shard).server->bound_connections(most.connections);
    co_return;
  });
}

Async<void> Server::bind(Shard& shard, Address address) {
  ShardState& mine = state(shard);
  if (shard.id() == ShardId{0} && address.port != 0) {
    auto alone = co_await mine.network->listen(address.host, address.port, false);
    if (!alone) {
      mine.outcome = std::unexpected(std::move(alone).error());
      co_return;
    }
    (*alone)->close();
  }
  auto listener = co_await mine.network->listen(address.host, address.port, true);
  if (listener) {
    mine.listener = std::move(*listener);
  } else {
    mine.outcome = std::unexpected(std::move(listener).error());
  }
}

void Server::start_disk_watch() {
  pool_.run_on(ShardId{0}, [this](Shard& shard) -> Async<void> {
    disk_watch_ = std::make_unique<DiskWatch>(*state(shard).server, *state(shard).fs);
    disk_watch_->start();
    co_return;
  });
  pool_.run_on_all([this](Shard& shard) -> Async<void> {
    state(shard).server->set_disk(&disk_watch_->room());
    co_return;
  });
}

Conditions Server::look_at(ShardState& shard, int64_t now_us) {
  shard.io->look(now_us);
  const engine::Node& node = shard.server->node();
  bool lags = false;
  // A read-only start lasts for the life of the node, and its reason is reported.
  if (shard.clock_of != nullptr && node.read_only_start() == nullptr) {
    const int64_t lag_us = node.clock_lag_us();
    shard.clock_of->set_clock_lag(lag_us);
    lags = lag_us > engine::ClockKeeper::kMaxLagUs;
  }
  return Conditions()
      .set(Condition::clock_lags, lags)
      .set(Condition::read_only, shard.server->engine().stats().read_only)
      .set(Condition::disk_hung, shard.io->hung());
}

void Server::start_beats() {
  if (readiness_ == nullptr) return;
  readiness_->serve(options_.shards);
  pool_.run_on_all([this](Shard& shard) -> Async<void> {
    ShardState& mine = state(shard);
    const auto look = [](void* context) {
      auto& one = *static_cast<ShardState*>(context);
      return look_at(one, one.runtime->timers.now_us());
    };
    if (shard.id() == ShardId{0}) mine.clock_of = readiness_;
    mine.beat = std::make_unique<ShardBeat>(*readiness_, shard.id(), shard.timers(), look, &mine);
    co_return;
  });
}

void Server::start_backups() {
  pool_.run_on(ShardId{0}, [this](Shard& shard) -> Async<void> {
    auto open = [this, &shard](DirectoryRequest request) {
      return open_directory(shard.loop(), backup_threads_, std::move(request));
    };
    backups_ = std::make_unique<BackupJobs>(
        *node_, shard.runtime(), BackupJobs::Source{facts_.directory_id, facts_.version}, open);
    state(shard).server->set_backups(backups_.get());
    co_return;
  });
}

Async<void> Server::open_agent(Shard& shard) {
  if (options_.agent_listen.empty() || readiness_ == nullptr) co_return;
  ShardState& mine = state(shard);
  const auto address = parse_address(options_.agent_listen);
  auto listener = co_await mine.network->listen(address->host, address->port, false);
  if (!listener) {
    mine.outcome = std::unexpected(std::move(listener).error());
    co_return;
  }
  log_info("server", "agent check listens address={}", (*listener)->address());
  agent_ = std::make_unique<AgentCheck>(shard.executor(), shard.timers(), std::move(*listener),
                                        *readiness_, options_.shards);
  agent_->start();
}

void Server::start_balancer() {
  if (node_->read_only_start() != nullptr) return;  // also after a reload
  pool_.run_on(ShardId{0}, [this](Shard& shard) -> Async<void> {
    balancer_ = std::make_unique<engine::Balancer>(shard.runtime(), *node_, options_.shards,
                                                   options_.balance);
    balancer_->start();
    co_return;
  });
}

void Server::stop_balancer() {
  pool_.run_on(ShardId{0}, [this](Shard&) -> Async<void> {
    if (balancer_) co_await balancer_->stop();
    balancer_.reset();
  });
}

}  // namespace cellar::server
