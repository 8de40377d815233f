#include "net/server/server.h"

#include <algorithm>

#include "engine/local_node.h"
#include "engine/store/format_file.h"
#include "io/base/log_setup.h"
#include "io/base/random.h"
#include "io/runtime/descriptors.h"
#include "net/server/exposure.h"

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

std::string_view version() { return "0.1.0"; }

Server::Server(ServerOptions options, const Clock& clock, ExtraOps* extra, Readiness* readiness)
    : options_(with_shards(std::move(options))),
      clock_(clock),
      security_files_(options_.security, clock),
      extra_(extra),
      readiness_(readiness),
      pool_(clock, {.shards = options_.shards, .pin = options_.pin}),
      blocking_(blocking_threads(options_.shards)),
      backup_threads_(kBackupThreads),
      states_(options_.shards),
      servers_(options_.shards) {
  facts_.version = version();
  facts_.instance = entropy_seed() | 1;
}

Server::~Server() { (void)stop(); }

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, const Clock& clock,
                                              ExtraOps* extra, Readiness* readiness) {
  std::unique_ptr<Server> server(new Server(std::move(options), clock, extra, readiness));
  if (auto opened = server->open(); !opened) {
    (void)server->stop();
    return std::unexpected(std::move(opened).error());
  }
  return server;
}

Result<void> Server::open() {
  (void)raise_descriptor_limit();  // recovery opens every table
  TRY_VOID(check_exposure(options_.listen, options_.security));
  TRY(policy_, security_files_.load());
  TRY_VOID(make_root_directory(options_.data_dir));
  TRY(io_, probe_io_backend(options_.io));
  facts_.io_backend = io_backend_name(io_.chosen);
  facts_.io_reason = io_.reason;
  log_info("server", "io backend={} reason=\"{}\" shards={}", facts_.io_backend, io_.reason,
           options_.shards);
  running_ = true;
  TRY_VOID(open_disk());
  TRY_VOID(open_node());
  return open_listeners();
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
    mine.logs = engine::make_local_log_store(*mine.fs, *mine.runtime, log);
    mine.blobs = engine::make_local_blob_store(*mine.fs, &mine.runtime->timers);
    mine.network = std::make_unique<TcpNetwork>(shard.executor(), shard.timers());
    mine.stalls = std::make_unique<StallWatch>(shard.loop(), clock_);
    mine.io = std::make_unique<IoWatch>(*mine.fs, shard.id());
    co_return;
  });
  pool_.run_on(ShardId{0}, [this](Shard& shard) { return open_engine(shard); });
  TRY_VOID(first_error());
  pool_.run_on(ShardId{0}, [this](Shard& shard) { return open_audit(shard); });
  TRY_VOID(first_error());
  pool_.run_on_all([this](Shard& shard) -> Async<void> {
    state(shard).server =
        std::make_unique<ShardServer>(shard, *node_, options_, facts_, servers_, clock_, extra_);
    state(shard).server->set_policy(policy_);
    state(shard).server->set_audit(audit_);
    state(shard).server->set_control({readiness_, &reloads_});
    servers_[shard.id().value()] = state(shard).server.get();
    co_return;
  });
  return {};
}

Async<void> Server::open_engine(Shard& shard) {
  ShardState& mine = state(shard);
  auto format = co_await engine::settle_format(*mine.fs, engine::new_directory_id());
  if (!format) {
    mine.outcome = std::unexpected(std::move(format).error());
    co_return;
  }
  facts_.directory_id = format->id;
  facts_.format = format->version;
  engine::EngineOptions options = options_.engine;
  options.format = format->version;
  std::vector<engine::ShardEnv> envs;
  for (ShardState& one : states_) envs.push_back({*one.runtime, *one.logs, *one.blobs});
  auto opened = co_await engine::open_local_node(*mine.fs, std::move(options), std::move(envs),
                                                 pool_.mailboxes());
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
  pool_.run_on(ShardId{0}, [this](Shard&) -> Async<void> {
    if (backups_) co_await backups_->stop();
  });
  pool_.run_on_all([this](Shard& shard) -> Async<void> {
    if (state(shard).server) co_await state(shard).server->stop();
  });
}

Result<void> Server::stop() {
  if (!running_) return {};
  Result<void> closed;
  if (node_) {
    end_sessions();
    pool_.run_on_all([this](Shard& shard) -> Async<void> {
      state(shard).beat.reset();
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
    state(shard).server.reset();
    co_return;
  });
  pool_.run_on(ShardId{0}, [this](Shard&) -> Async<void> {
    audit_.reset();
    disk_watch_.reset();
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

}  // namespace cellar::server
