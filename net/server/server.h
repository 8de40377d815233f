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
#include "engine/store/local/local_stores.h"
#include "io/base/clock.h"
#include "io/base/huge_chunks.h"
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
#include "net/server/control/resident_watch.h"
#include "net/server/disk_watch.h"
#include "net/server/policy/security_files.h"
#include "net/server/requests/backup_jobs.h"
#include "net/server/requests/backup_schedule.h"
#include "net/server/requests/dispatch.h"
#include "net/server/shard/shard_server.h"

namespace cellar::server {

class Server {
 public:
  // Returns when the node is open and every shard listens. `clock` and `handler` must outlive it.
  // Errors are sentences for the operator: the directory or address is in use, io_uring is
  // unavailable, the log is damaged. `readiness` (may be null) is updated with the state of the
  // node and its shards and must outlive it.
  static Result<std::unique_ptr<Server>> start(ServerOptions options, const Clock& clock,
                                               Readiness* readiness = nullptr,
                                               const RequestHandler& handler = request_handler());
  ~Server();  // calls stop() if that has not been done
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  const std::string& address() const { return address_; }  // HOST:PORT, as bound
  const NodeFacts& facts() const { return facts_; }
  const ServerOptions& options() const { return options_; }  // main thread only
  // Total of all shards. Main thread only.
  uint64_t connections();

  // ---- for other threads that inspect the node; until stop()
  uint32_t shards() const { return pool_.size(); }
  // Runs work on a shard: the objects returned below belong to that shard only.
  ShardExecutor executor(ShardId shard) { return pool_.on(shard).executor(); }
  ShardServer& on(ShardId shard) { return shared_->shard(shard); }
  const ShardLoop& loop(ShardId shard) const { return pool_.loop(shard); }
  const StallWatch& stalls(ShardId shard) const { return *states_[shard.value()].stalls; }
  const IoWatch& io(ShardId shard) const { return *states_[shard.value()].io; }

  // The queue of reload requests from shards. The main thread polls it and changes it through
  // on_home() only.
  ReloadQueue& reloads() { return reloads_; }
  // Runs `change` on the home shard and waits for it.
  void on_home(const std::function<void()>& change);

  // Applies the reloadable changes and reports the others. `wanted` must be valid.
  ReloadPlan reload(const ServerOptions& wanted);

  // Checks whether certificates or principals have changed and applies them; `force`: reads the
  // files even if they seem unchanged. Call at least every second, on the thread that made the
  // server.
  void refresh_security(bool force);

  // Stops accepting, sends goaway to every session and answers requests in flight within the drain
  // time. Other users of the node may continue; stop() follows.
  void end_sessions();
  // Stops accepting, answers requests in flight, flushes and ends the shards.
  Result<void> stop();

 private:
  // State of one shard; created and destroyed on its thread.
  struct ShardState {
    std::unique_ptr<FileSystem> fs;
    std::optional<Runtime> runtime;
    std::unique_ptr<engine::StoreFactory> stores;
    std::unique_ptr<engine::LogStore> logs;
    std::unique_ptr<engine::BlobStore> blobs;
    std::unique_ptr<TcpNetwork> network;
    std::unique_ptr<StallWatch> stalls;  // logs long turns
    std::unique_ptr<IoWatch> io;         // logs a disk that does not respond
    std::unique_ptr<ShardServer> server;
    std::unique_ptr<ShardBeat> beat;
    std::unique_ptr<ResidentWatch> resident;
    Readiness* clock_of = nullptr;  // receives the lag of trusted time; shard 0 only
    std::unique_ptr<Listener> listener;
    Result<void> outcome;
  };

  Server(ServerOptions options, const Clock& clock, Readiness* readiness,
         const RequestHandler& handler);
  Result<void> open();
  Result<void> open_disk();
  Result<void> open_node();
  bool uses_ring_for_sockets() const;
  Result<void> open_network(Shard& shard);
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
  void start_resident_watch();
  Async<void> open_agent(Shard& shard);
  void start_balancer();
  void stop_balancer();
  ShardState& state(const Shard& shard) { return states_[shard.id().value()]; }
  Result<void> first_error();

  ServerOptions options_;  // of the main thread; each shard has its own copy
  const Clock& clock_;
  SecurityFiles security_files_;
  SecurityPolicy policy_;
  Readiness* readiness_;
  const RequestHandler& handler_;
  std::unique_ptr<NodeShared> shared_;
  ReloadQueue reloads_;
  NodeFacts facts_;
  IoBackendChoice io_;
  std::string address_;

  HugeChunks chunks_;
  ShardPool pool_;
  BlockingPool blocking_;  // ends before the loops
  // destroyed before the loops; calls may hang as long as a mount does
  BlockingPool backup_threads_;
  std::vector<ShardState> states_;
  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<engine::ManifestStore> manifest_;
  std::shared_ptr<AuditLog> audit_;  // belongs to shard 0
  std::unique_ptr<engine::Node> node_;
  std::unique_ptr<BackupJobs> backups_;         // belongs to shard 0
  std::unique_ptr<BackupSchedule> schedule_;    // on shard 0
  std::unique_ptr<DiskWatch> disk_watch_;       // on shard 0, while the shards serve
  std::unique_ptr<AgentCheck> agent_;           // on shard 0, if configured
  std::unique_ptr<engine::Balancer> balancer_;  // on shard 0, while the node serves
  bool running_ = false;
  bool sessions_ended_ = false;
};

}  // namespace cellar::server
