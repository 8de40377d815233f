// Server: a whole node in one process: shards, disk, engine, listeners. Made, stopped and destroyed
// by the program's main thread.
//
//   Result<std::unique_ptr<Server>> server = Server::start(options, clock);
//   ... print (*server)->address() ...
//   (*server)->stop();
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/balance/balancer.h"
#include "engine/node.h"
#include "engine/store/local_stores.h"
#include "io/base/clock.h"
#include "io/disk/backend.h"
#include "io/disk/blocking_pool.h"
#include "io/disk/file.h"
#include "io/loop/shard_pool.h"
#include "io/loop/stall_watch.h"
#include "io/net/tcp_transport.h"
#include "net/server/control/agent_check.h"
#include "net/server/control/io_watch.h"
#include "net/server/control/readiness.h"
#include "net/server/control/reload.h"
#include "net/server/control/reload_desk.h"
#include "net/server/disk_watch.h"
#include "net/server/policy/security_files.h"
#include "net/server/requests/backup_jobs.h"
#include "net/server/shard/shard_server.h"

namespace cellar::server {

class Server {
 public:
  // Returns when the node is open and every shard listens. `clock` and `extra` (may be null)
  // outlive it. Errors are sentences for an operator: the directory is in use, the address is
  // taken, io_uring is not to be had, the log is damaged.
  // `readiness`, if given, is told when the node serves and how its shards do; it outlives this.
  static Result<std::unique_ptr<Server>> start(ServerOptions options, const Clock& clock,
                                               ExtraOps* extra = nullptr,
                                               Readiness* readiness = nullptr);
  ~Server();  // stops when that was not done
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  const std::string& address() const { return address_; }  // HOST:PORT, as bound
  const NodeFacts& facts() const { return facts_; }
  const ServerOptions& options() const { return options_; }  // on the main thread
  // Open on all shards together. On the main thread.
  uint64_t connections();

  // ---- for who looks into it from another thread; until stop()
  uint32_t shards() const { return pool_.size(); }
  // To run something on a shard: what is reached through the two below is that shard's alone.
  ShardExecutor executor(ShardId shard) { return pool_.on(shard).executor(); }
  ShardServer& on(ShardId shard) { return *servers_[shard.value()]; }
  const StallWatch& stalls(ShardId shard) const { return *states_[shard.value()].stalls; }
  const IoWatch& io(ShardId shard) const { return *states_[shard.value()].io; }

  // Where shards ask for a reload, which the main thread then does. To be looked at by it alone,
  // and changed with on_home().
  ReloadDesk& reloads() { return reloads_; }
  // Runs `change` on the home shard; returns when it has.
  void on_home(const std::function<void()>& change);

  // Puts in force what a reload may change; names what it may not. The options are valid.
  ReloadPlan reload(const ServerOptions& wanted);

  // Looks whether certificates or principals have changed, and goes by them from then on; `force`:
  // reads them though they do not look changed. To be called every second at least, by the thread
  // that made it.
  void refresh_security(bool force);

  // Accepts no more, says goodbye to every session, answers what is in flight within the drain's
  // time. What else looks into the node may go on; stop() follows.
  void end_sessions();
  // Accepts no more, answers what is in flight, flushes, and ends the shards.
  Result<void> stop();

 private:
  // What one shard keeps; made and destroyed on its thread.
  struct ShardState {
    std::unique_ptr<FileSystem> fs;
    std::optional<Runtime> runtime;
    std::unique_ptr<engine::LogStore> logs;
    std::unique_ptr<engine::BlobStore> blobs;
    std::unique_ptr<TcpNetwork> network;
    std::unique_ptr<StallWatch> stalls;  // logs turns that take too long
    std::unique_ptr<IoWatch> io;         // logs a disk that does not answer
    std::unique_ptr<ShardServer> server;
    std::unique_ptr<ShardBeat> beat;
    Readiness* clock_of = nullptr;  // is told how far trusted time lags; shard 0's
    std::unique_ptr<Listener> listener;
    Result<void> outcome;
  };

  Server(ServerOptions options, const Clock& clock, ExtraOps* extra, Readiness* readiness);
  Result<void> open();
  Result<void> open_disk();
  Result<void> open_node();
  Result<void> open_listeners();
  void end();

  Async<void> check_format(Shard& shard);
  Async<void> lock_directory(Shard& shard);
  void bound_connections();
  void check_memory() const;
  void start_backups();
  Async<void> open_engine(Shard& shard);
  Async<void> open_audit(Shard& shard);
  Async<void> bind(Shard& shard, Address address);
  void start_beats();
  static Conditions look_at(ShardState& shard, int64_t now_us);
  void start_disk_watch();
  Async<void> open_agent(Shard& shard);
  void start_balancer();
  void stop_balancer();
  ShardState& state(const Shard& shard) { return states_[shard.id().value()]; }
  Result<void> first_error();

  ServerOptions options_;  // of the main thread; each shard has its own copy
  const Clock& clock_;
  SecurityFiles security_files_;
  SecurityPolicy policy_;
  ExtraOps* extra_;
  Readiness* readiness_;
  ReloadDesk reloads_;
  NodeFacts facts_;
  IoBackendChoice io_;
  std::string address_;

  ShardPool pool_;
  BlockingPool blocking_;        // ends before the loops
  BlockingPool backup_threads_;  // likewise; its calls may hang for as long as a mount does
  std::vector<ShardState> states_;
  std::vector<ShardServer*> servers_;
  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<engine::ManifestStore> manifest_;
  std::shared_ptr<AuditLog> audit_;  // shard 0's
  std::unique_ptr<engine::Node> node_;
  std::unique_ptr<BackupJobs> backups_;         // on shard 0, likewise
  std::unique_ptr<DiskWatch> disk_watch_;       // on shard 0, while the shards serve
  std::unique_ptr<AgentCheck> agent_;           // on shard 0, if it is wanted
  std::unique_ptr<engine::Balancer> balancer_;  // on shard 0, while the node serves
  bool running_ = false;
  bool sessions_ended_ = false;
};

}  // namespace cellar::server
