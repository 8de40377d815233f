#include "net/server/server.h"

#include <algorithm>

#include "engine/node/clock_keeper.h"
#include "engine/node/open_node.h"
#include "engine/store/local/format_file.h"
#include "io/base/log.h"
#include "io/base/log_setup.h"
#include "io/base/random.h"
#include "io/base/time_text.h"
#include "io/loop/descriptors.h"
#include "io/loop/machine_memory.h"
#include "io/net/uring/uring_streams.h"
#include "net/server/access/slow_log.h"
#include "net/server/backup_places.h"
#include "net/server/config/listen_policy.h"

namespace cellar::server {
namespace {

ServerOptions with_shards(ServerOptions options) {
  if (options.shards == 0) options.shards = ShardPool::cores();
  return options;
}

// Enough threads that the durable writes of every shard do not queue behind metadata calls.
int blocking_threads(uint32_t shards) {
  constexpr uint32_t kPerShard = 2;
  const uint32_t wanted = BlockingPool::kDefaultThreads + kPerShard * shards;
  return static_cast<int>(std::min<uint32_t>(wanted, BlockingPool::kMaxThreads));
}

constexpr int kBackupThreads = 2;
constexpr std::string_view kLockName = "LOCK";

}  // namespace

Server::Server(ServerOptions options, const Clock& clock, Readiness* readiness,
               const RequestHandler& handler)
    : options_(with_shards(std::move(options))),
      clock_(clock),
      security_files_(options_.security, clock),
      readiness_(readiness),
      handler_(handler),
      pool_(clock, {.shards = options_.shards, .pin = options_.pin}),
      blocking_(blocking_threads(options_.shards)),
      backup_threads_(kBackupThreads),
      states_(options_.shards) {
  facts_.version = version();
  facts_.instance = entropy_seed() | 1;
}

Server::~Server() { (void)stop(); }

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, const Clock& clock,
                                              Readiness* readiness, const RequestHandler& handler) {
  std::unique_ptr<Server> server(new Server(std::move(options), clock, readiness, handler));
  if (auto opened = server->open(); !opened) {
    (void)server->stop();
    return std::unexpected(std::move(opened).error());
  }
  return server;
}

Result<void> Server::open() {
  (void)raise_descriptor_limit();  // recovery opens every table
  TRY_VOID(check_listen_policy(options_.listen, options_.security));
  TRY(policy_, security_files_.load());
  TRY_VOID(make_root_directory(options_.data_dir));
  TRY(io_, probe_io_backend(options_.io));
  facts_.io_backend = io_backend_name(io_.chosen);
  facts_.io_reason = io_.reason;
  if (options_.sockets == SocketBackend::io_uring) {
    if (const int probed = probe_ring(); probed < 0) {
      return std::unexpected(os_error(-probed, "io.sockets = io_uring: setting up an io_uring"));
    }
  }
  log_info("server", "io backend={} sockets={} reason=\"{}\" shards={}", facts_.io_backend,
           uses_ring_for_sockets() ? "io_uring" : "epoll", io_.reason, options_.shards);
  running_ = true;
  TRY_VOID(open_disk());
  TRY_VOID(open_node());
  return open_listeners();
}

bool Server::uses_ring_for_sockets() const {
  if (options_.sockets != SocketBackend::automatic) {
    return options_.sockets == SocketBackend::io_uring;
  }
  return io_.chosen == IoBackend::io_uring;
}

Result<void> Server::first_error() {
  for (ShardState& one : states_) {
    if (!one.outcome) return std::exchange(one.outcome, {});
  }
  return {};
}

// Opens every shard's file system and registers the lock in all of them before any write.
Result<void> Server::open_disk() {
  pool_.start([this](Shard& shard) {
    ShardState& mine = state(shard);
    auto fs = make_file_system(io_.chosen, shard.loop(), options_.data_dir, blocking_);
    if (fs) {
      mine.fs = std::move(*fs);
    } else {
      mine.outcome = std::unexpected(std::move(fs).error());
    }
  });
  TRY_VOID(first_error());
  // Before the lock, which is a file: nothing is written to a directory of another format.
  pool_.run_on(ShardId{0}, [this](Shard& shard) { return check_format(shard); });
  TRY_VOID(first_error());
  pool_.run_on(ShardId{0}, [this](Shard& shard) { return lock_directory(shard); });
  TRY_VOID(first_error());
  pool_.run_on_all([this](Shard& shard) -> Async<void> {
    if (shard.id() != ShardId{0}) state(shard).outcome = state(shard).fs->hold_lock(*lock_);
    co_return;
  });
  return first_error();
}

Async<void> Server::check_format(Shard& shard) {
  auto format = co_await engine::read_format(*state(shard).fs);
  if (format) co_return;
  Error error = std::move(format).error();
  error.message = fmt::format("data directory '{}': {}", options_.data_dir, error.message);
  state(shard).outcome = std::unexpected(std::move(error));
}

Async<void> Server::lock_directory(Shard& shard) {
  auto locked = co_await state(shard).fs->lock(std::string(kLockName));
  if (locked) {
    lock_ = std::move(*locked);
  } else {
    Error error = std::move(locked).error();
    error.message = fmt::format("data directory '{}': {}", options_.data_dir, error.message);
    state(shard).outcome = std::unexpected(std::move(error));
  }
}

Result<void> Server::open_node() {
  const engine::EngineOptions& engine = options_.engine;
  engine::LogOptions log;
  log.segment_bytes = engine.log_segment_bytes;
  log.logs = options_.shards;
  log.periodic_interval_us = engine.periodic_interval_us;
  pool_.run_on_all([this, log](Shard& shard) -> Async<void> {
    ShardState& mine = state(shard);
    mine.runtime.emplace(shard.runtime());
    // Where a node keeps its data is decided here and nowhere else.
    mine.stores = engine::make_local_stores(*mine.fs, *mine.runtime, log);
    mine.logs = mine.stores->make_logs();
    mine.blobs = mine.stores->make_blobs();
    mine.outcome = open_network(shard);
    mine.stalls = std::make_unique<StallWatch>(shard.loop(), clock_);
    mine.io = std::make_unique<IoWatch>(*mine.fs, shard.id());
    co_return;
  });
  TRY_VOID(first_error());
  pool_.run_on(ShardId{0}, [this](Shard& shard) { return open_engine(shard); });
  TRY_VOID(first_error());
  pool_.run_on(ShardId{0}, [this](Shard& shard) { return open_audit(shard); });
  TRY_VOID(first_error());
  shared_ = std::make_unique<NodeShared>(facts_, options_, entropy_seed());
  shared_->control = {readiness_, &reloads_};
  pool_.run_on_all([this](Shard& shard) -> Async<void> {
    auto server =
        std::make_unique<ShardServer>(shard, *node_, options_, *shared_, clock_, handler_);
    server->set_policy(policy_);
    server->security().set_log(audit_);
    shared_->shards[shard.id().value()] = server.get();
    state(shard).server = std::move(server);
    co_return;
  });
  return {};
}

Result<void> Server::open_network(Shard& shard) {
  std::shared_ptr<DescriptorStreams> streams;
  if (uses_ring_for_sockets()) {
    TRY(auto ring, Ring::of(shard.loop()));
    streams = std::make_shared<UringStreams>(std::move(ring));
  }
  state(shard).network =
      std::make_unique<TcpNetwork>(shard.executor(), shard.timers(), std::move(streams));
  return {};
}

Async<void> Server::open_engine(Shard& shard) {
  ShardState& mine = state(shard);
  auto format = co_await engine::resolve_format(*mine.fs, engine::new_directory_id());
  if (!format) {
    mine.outcome = std::unexpected(std::move(format).error());
    co_return;
  }
  facts_.directory_id = format->id;
  std::vector<engine::ShardEnv> envs;
  for (ShardState& one : states_) envs.push_back({*one.runtime, *one.logs, *one.blobs, &chunks_});
  auto opened =
      co_await engine::open_node(*mine.stores, options_.engine, std::move(envs), pool_.mailboxes());
  if (!opened) {
    mine.outcome = std::unexpected(std::move(opened).error());
    co_return;
  }
  manifest_ = std::move(opened->manifest);
  node_ = std::move(opened->node);
  const engine::RecoveryReport& found = node_->recovery();
  log_info("server", "recovered commits={} bytes={} torn_tail_bytes={} orphans={} us={}",
           found.replayed_commits, found.replayed_bytes, found.torn_tail_bytes,
           found.orphans_removed, found.elapsed_us);
}

// The audit log requires principals.
Async<void> Server::open_audit(Shard& shard) {
  if (options_.security.principals.empty()) co_return;
  const AuditOptions options{options_.security.audit_file_bytes, options_.security.audit_files};
  auto log =
      co_await AuditLog::open(shard.executor(), shard.timers(), *state(shard).fs, clock_, options);
  if (log) {
    audit_ = std::move(*log);
  } else {
    state(shard).outcome = std::unexpected(std::move(log).error());
  }
}

void Server::refresh_security(bool force) {
  if (!security_files_.refresh(force, policy_)) return;
  pool_.run_on_all([this](Shard& shard) -> Async<void> {
    state(shard).server->set_policy(policy_);
    co_return;
  });
  pool_.run_on(ShardId{0}, [this](Shard&) -> Async<void> {
    security::AuditEvent event;
    event.event = "reload";
    event.detail = policy_.tls ? fmt::format("certificate {}", policy_.tls->fingerprint()) : "";
    if (audit_) audit_->record(std::move(event));
    co_return;
  });
}

uint64_t Server::connections() {
  std::atomic<uint64_t> all = 0;
  pool_.run_on_all([this, &all](Shard& shard) -> Async<void> {
    all += state(shard).server->admission().connections();
    co_return;
  });
  return all;
}

void Server::on_home(const std::function<void()>& change) {
  pool_.run_on(ShardId{0}, [&change](Shard&) -> Async<void> {
    change();
    co_return;
  });
}

ReloadPlan Server::reload(const ServerOptions& wanted) {
  ReloadPlan plan = plan_reload(options_, with_shards(wanted));
  options_ = plan.options;
  set_log_level(options_.log.level);
  set_log_format(options_.log.format);
  pool_.run_on_all([this, &plan](Shard& shard) -> Async<void> {
    state(shard).server->reconfigure(plan.options);
    co_return;
  });
  if (plan.changes("balance.")) {
    stop_balancer();
    start_balancer();
  }
  return plan;
}

void Server::end_sessions() {
  if (std::exchange(sessions_ended_, true)) return;
  if (readiness_ != nullptr) readiness_->stop();
  stop_balancer();
  pool_.run_on_all([this](Shard& shard) -> Async<void> {
    if (state(shard).server) co_await state(shard).server->stop();
  });
  // Last: a directory of backups may not answer.
  pool_.run_on(ShardId{0}, [this](Shard&) -> Async<void> {
    if (schedule_) co_await schedule_->stop();
  });
}

Result<void> Server::stop() {
  if (!running_) return {};
  Result<void> closed;
  if (node_) {
    end_sessions();
    pool_.run_on_all([this](Shard& shard) -> Async<void> {
      state(shard).beat.reset();
      state(shard).resident.reset();
      co_return;
    });
    pool_.run_on(ShardId{0}, [this, &closed](Shard&) -> Async<void> {
      if (audit_) co_await audit_->close();
      closed = co_await node_->close();
    });
  }
  end();
  if (!closed) log_error("server", "close failed error=\"{}\"", closed.error().to_string());
  return closed;
}

// Destroys what open() created, each part on its own thread.
void Server::end() {
  if (!running_) return;
  running_ = false;
  pool_.run_on(ShardId{0}, [this](Shard&) -> Async<void> {
    if (agent_) co_await agent_->stop();
    agent_.reset();
    if (disk_watch_) co_await disk_watch_->stop();
  });
  pool_.run_on_all([this](Shard& shard) -> Async<void> {
    if (state(shard).listener) state(shard).listener->close();
    state(shard).listener.reset();
    state(shard).beat.reset();
    state(shard).resident.reset();
    state(shard).server.reset();
    co_return;
  });
  pool_.run_on(ShardId{0}, [this](Shard&) -> Async<void> {
    audit_.reset();
    disk_watch_.reset();
    schedule_.reset();
    backups_.reset();
    node_.reset();
    manifest_.reset();
    co_return;
  });
  pool_.stop({}, [this](Shard& shard) {
    ShardState& mine = state(shard);
    mine.logs.reset();
    mine.blobs.reset();
    mine.network.reset();
    mine.stalls.reset();
    mine.io.reset();
    if (shard.id() == ShardId{0}) lock_.reset();  // a ring releases it on its own thread only
    mine.fs.reset();
  });
  blocking_.stop();
  backup_threads_.stop();
}

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
  TRY_VOID(check_listen_policy(address_, options_.security));
  // Requests on every shard use these, so set them before the first connection is accepted.
  bound_connections();
  check_memory();
  start_backups();
  start_disk_watch();
  start_resident_watch();
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

void Server::start_resident_watch() {
  pool_.run_on_all([this](Shard& shard) -> Async<void> {
    state(shard).resident = std::make_unique<ResidentWatch>(
        shard.timers(), process_memory(), options_.engine.memory_bytes, options_.shards,
        [&engine = state(shard).server->engine()](size_t bytes) {
          return engine.withhold_memory(bytes);
        });
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
      return open_backup_place(shard.loop(), shard.runtime(), backup_threads_,
                               state(shard).server->options().ceph, std::move(request));
    };
    backups_ = std::make_unique<BackupJobs>(
        *node_, shard.runtime(), BackupJobs::Source{facts_.directory_id, facts_.version}, open);
    shared_->backups = backups_.get();
    schedule_ = std::make_unique<BackupSchedule>(*state(shard).server, *backups_);
    shared_->schedule = schedule_.get();
    schedule_->start();
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
