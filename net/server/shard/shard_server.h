// ShardServer: the serving side of one shard. It owns the shard's sessions and the pools of their
// requests, and requests from other shards run on it.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <deque>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "engine/node.h"
#include "io/loop/gate.h"
#include "io/loop/loop.h"
#include "io/loop/shard.h"
#include "io/net/transport.h"
#include "net/server/accept/proxy_stage.h"
#include "net/server/accept/tls_accept.h"
#include "net/server/config/options.h"
#include "net/server/control/node_control.h"
#include "net/server/limits/admission.h"
#include "net/server/limits/disk_room.h"
#include "net/server/limits/memory_queue.h"
#include "net/server/limits/node_memory.h"
#include "net/server/limits/peer_limiter.h"
#include "net/server/policy/audit_log.h"
#include "net/server/shard/conditional_op.h"
#include "net/server/shard/map_wait.h"
#include "net/server/shard/pool.h"
#include "net/server/shard/read_op.h"
#include "net/server/shard/request_handler.h"
#include "net/server/shard/request_meter.h"
#include "net/server/shard/session.h"
#include "net/server/shard/write_op.h"
#include "net/wire/read_codec.h"
#include "net/wire/write_codec.h"

namespace cellar::server {

// Facts that ServerInfo reports in addition to the engine's figures; the same on every shard,
// immutable.
struct NodeFacts {
  std::string version;
  std::string io_backend;
  std::string io_reason;
  std::string directory_id;  // see engine/store/format_file.h
  uint64_t instance = 0;     // random at every start, never 0 in a real node
};

class BackupJobs;

class ShardServer final : public LoopHook, private engine::TableMapWatcher {
 public:
  struct Counters {
    uint64_t requests = 0;
    uint64_t handed_over = 0;
    uint64_t slices = 0;            // slices of reads, on this shard's tablets
    uint64_t released_cursors = 0;  // by waiting streams
    uint64_t accepted = 0;          // connections
    uint64_t refused = 0;           // connections at the limit or while stopping
    uint64_t garbage = 0;           // connections closed because of invalid bytes
    uint64_t received_bytes = 0;
    uint64_t sent_bytes = 0;
  };

  // All references must outlive it. `peers` holds the ShardServer of every shard by number; it is
  // filled before the first connection is accepted.
  ShardServer(Shard& shard, engine::Node& node, const ServerOptions& options,
              const NodeFacts& facts, const std::vector<ShardServer*>& peers, const Clock& wall,
              const RequestHandler& handler);
  ~ShardServer() override;

  // Serves the connections of `listener` until stop().
  void listen(std::unique_ptr<Listener> listener);
  // Stops accepting, sends goaway, and returns when every request is answered or the drain time is
  // over; then closes all connections.
  Async<void> stop();
  // An upper limit of connections, whatever is configured.
  void bound_connections(uint32_t connections);
  // Applies the reloadable settings (settings.h) of `options`.
  void reconfigure(const ServerOptions& options);
  // Belongs to the home shard; null if backups are disabled. Sessions of all shards use it: set it
  // before any shard listens; it must outlive the sessions.
  void set_backups(BackupJobs* backups) { backups_ = backups; }
  BackupJobs* backups() { return backups_; }
  // Free disk space; null if it is not watched. Must outlive the sessions.
  void set_disk(const DiskRoom* room) { disk_ = room; }
  // For requests that add data: RESOURCE_EXHAUSTED while the reserve is in use.
  Result<void> admit_growth() const {
    return disk_ == nullptr ? Result<void>() : disk_->admit(options_.disk.reserve_bytes);
  }
  Result<void> admit_growth(std::span<const Mutation> mutations) const {
    return disk_ == nullptr ? Result<void>() : disk_->admit(options_.disk.reserve_bytes, mutations);
  }
  // Operator commands to the program; all null if it provides none.
  void set_control(NodeControl control) { control_ = control; }
  const NodeControl& control() const { return control_; }
  // Serves one stream, possibly from a proxy (proxy_stage.h). Also used by tests.
  void serve(std::unique_ptr<ByteStream> stream);

  // ---- security ----
  // Applies to new and existing connections: a session whose proof is no longer valid or whose
  // permissions shrink is closed.
  void set_policy(SecurityPolicy policy);
  const SecurityPolicy& policy() const { return policy_; }
  // Security log, shared by all shards and owned by shard 0; null disables it.
  void set_audit(std::shared_ptr<AuditLog> log) { audit_ = std::move(log); }
  void audit(security::AuditEvent event);
  // Rate-limited variant for events that unauthenticated peers can trigger: at most kFloodPerS per
  // second, and one line for the rest.
  void audit_flood(security::AuditEvent event);
  PeerLimiter& addresses() { return peers_.front()->addresses_; }
  SecurityCounters& security_counters() { return security_counters_; }
  const SecurityCounters& security_counters() const { return security_counters_; }

  // ---- shard ----
  ShardId id() const { return shard_.id(); }
  ShardExecutor executor() { return shard_.executor(); }
  Timers& timers() { return shard_.timers(); }
  Mailbox& mailbox() { return shard_.mailbox(); }
  TrustedClock& clock() { return shard_.clock(); }
  const Clock& wall() const { return wall_; }
  engine::Node& node() { return node_; }
  engine::Engine& engine() { return engine_; }
  const engine::TableMap& tables() const { return node_.tables(shard_.id()); }
  const ServerOptions& options() const { return options_; }
  const NodeFacts& facts() const { return facts_; }
  Admission& admission() { return admission_; }
  MapWaiters& map_waiters() { return map_waiters_; }
  NodeMemory& memory() { return peers_.front()->memory_; }
  MemoryQueue& memory_queue() { return memory_queue_; }
  // Node memory. Freed memory is offered to waiters on every shard.
  void count_answers(ptrdiff_t change) {
    memory().count_answers(change);
    if (change < 0) offer_memory();
  }
  void count_requests(ptrdiff_t change) {
    memory().count_requests(change);
    if (change < 0) offer_memory();
  }
  void lower_claim(NodeMemory::Claim& claim, size_t bytes) {
    memory().shrink(claim, bytes);
    offer_memory();
  }
  // Refuses reads while replies wait for clients.
  Result<void> admit_reply() const;
  const RequestHandler& handler() const { return handler_; }
  ShardServer& peer(ShardId shard) { return *peers_[shard.value()]; }
  uint32_t frame_bytes() const { return frame_bytes_; }
  int64_t started_us() const { return started_us_; }

  // ---- requests; scratch space for one call ----
  flatbuffers::FlatBufferBuilder& builder() { return builder_; }
  wire::DecodedWrites& writes() { return writes_; }
  Pool<SingleWrite> single_writes;
  Pool<BatchWrite> batch_writes;
  Pool<ConditionalOp> conditional_ops;
  Pool<ReadOp> reads;

  // ---- sessions ----
  void queue_flush(Session& session);
  void remove(Session& session);
  void log_garbage(const std::string& peer, const std::string& what);
  void count_request() { ++counters_.requests; }
  void count_handed_over() { ++counters_.handed_over; }
  void count_slice() { ++counters_.slices; }
  void count_released_cursor() { ++counters_.released_cursors; }
  void count_received(size_t bytes) { counters_.received_bytes += bytes; }
  void count_sent(size_t bytes) { counters_.sent_bytes += bytes; }
  void count_garbage() { ++counters_.garbage; }
  const Counters& counters() const { return counters_; }
  RequestMeter& meter() { return meter_; }
  Loop& loop() { return shard_.loop(); }
  size_t later_length() const { return later_.size(); }  // deferred work waiting for its turn

  // Defers work to the next loop turn, FIFO; work beyond kLaterShareUs of a turn waits for the
  // following one.
  void defer(DeferredTask& work);

  bool on_turn() override;
  bool may_sleep() override {
    return flush_.empty() && later_.empty() && !map_changed_ && meter_.empty();
  }

 private:
  static constexpr int64_t kGarbageLogUs = 60'000'000;
  // Time per turn for deferred work; a piece that has started is finished.
  static constexpr int64_t kLaterShareUs = 300;

  static constexpr uint64_t kFloodPerS = 100;

  void offer_memory() {
    if (memory().has_waiters()) call_memory_queues();
  }
  void call_memory_queues();
  Async<void> accept_loop();
  Async<void> open(ProxiedStream client, PeerLimiter::Opening opening);
  void begin(ProxiedStream client, StreamFacts facts, PeerLimiter::Opening opening);
  void count_failed_opening(const Error& error);
  void leave();
  Async<void> serve_proxied(std::unique_ptr<ByteStream> stream);
  void serve_client(ProxiedStream client);
  bool drained() const;  // every session has ended or may end
  void run_later();
  void table_map_changed() override { map_changed_ = true; }
  void unwatch();

  Shard& shard_;
  engine::Node& node_;
  engine::Engine& engine_;
  BackupJobs* backups_ = nullptr;
  NodeControl control_;
  const DiskRoom* disk_ = nullptr;
  ServerOptions options_;
  const NodeFacts& facts_;
  const std::vector<ShardServer*>& peers_;
  const Clock& wall_;
  const RequestHandler& handler_;
  const uint32_t frame_bytes_;
  const int64_t started_us_;
  Admission admission_;
  uint32_t connections_bound_ = UINT32_MAX;
  NodeMemory memory_;      // only that of shard 0 is used
  PeerLimiter addresses_;  // only that of shard 0 is used

  std::unique_ptr<Listener> listener_;
  Event accept_ended_;
  boost::intrusive::list<ProxyStage, boost::intrusive::constant_time_size<false>> proxy_stages_;
  std::unordered_set<Session*> sessions_;
  ConditionVariable session_left_;
  bool stopping_ = false;

  SecurityPolicy policy_;
  SecurityCounters security_counters_;
  Semaphore handshakes_{kMaxHandshakes};
  std::unordered_set<ByteStream*> openings_;  // streams whose first bytes are awaited
  std::shared_ptr<AuditLog> audit_;
  int64_t flood_second_ = 0;
  uint64_t flood_lines_ = 0;
  uint64_t flood_left_out_ = 0;

  std::vector<Session*> flush_;
  std::vector<Session*> flushing_;
  std::deque<DeferredTask*> later_;
  MapWaiters map_waiters_;
  MemoryQueue memory_queue_;
  bool watching_ = true;      // watching the table map
  bool map_changed_ = false;  // the waiters have not been notified yet
  flatbuffers::FlatBufferBuilder builder_;
  wire::DecodedWrites writes_;
  Counters counters_;
  RequestMeter meter_;

  int64_t garbage_logged_us_ = 0;
  uint64_t garbage_unlogged_ = 0;
};

}  // namespace cellar::server
