// ShardServer: the serving side of one shard. It owns the shard's sessions and everything that
// their requests take from pools, and it is what a request that was handed over from another shard
// meets there.
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
#include "net/server/accept/opening.h"
#include "net/server/accept/proxy_stage.h"
#include "net/server/config/options.h"
#include "net/server/control/node_control.h"
#include "net/server/limits/address_table.h"
#include "net/server/limits/admission.h"
#include "net/server/limits/disk_room.h"
#include "net/server/limits/memory_queue.h"
#include "net/server/limits/node_memory.h"
#include "net/server/policy/audit_log.h"
#include "net/server/shard/conditional_op.h"
#include "net/server/shard/extra_ops.h"
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

// What ServerInfo tells beside the engine's own numbers; the same on every shard, immutable.
struct NodeFacts {
  std::string version;
  std::string io_backend;
  std::string io_reason;
  std::string directory_id;  // engine/store/format_file.h
  uint32_t format = 0;
  uint64_t instance = 0;  // drawn at every start, never 0 in a real node
};

class BackupJobs;

class ShardServer final : public LoopHook, private engine::TableMapWatcher {
 public:
  struct Counters {
    uint64_t requests = 0;
    uint64_t handed_over = 0;
    uint64_t slices = 0;            // of reads, on this shard's tablets
    uint64_t released_cursors = 0;  // of streams that waited
    uint64_t accepted = 0;          // connections
    uint64_t refused = 0;           // likewise, at the bound or while stopping
    uint64_t garbage = 0;           // connections ended because they spoke no protocol
    uint64_t received_bytes = 0;
    uint64_t sent_bytes = 0;
  };

  // All references outlive it. `peers` holds the ShardServer of every shard by its number; it is
  // filled before the first connection is accepted. `extra` may be null.
  ShardServer(Shard& shard, engine::Node& node, const ServerOptions& options,
              const NodeFacts& facts, const std::vector<ShardServer*>& peers, const Clock& wall,
              ExtraOps* extra, const RequestHandler& handler);
  ~ShardServer() override;

  // Serves what `listener` accepts until stop().
  void listen(std::unique_ptr<Listener> listener);
  // Accepts no more, says goaway, and returns when every request is answered or the drain's time is
  // over; then every connection is closed.
  Async<void> stop();
  // No more connections than this, whatever is configured.
  void bound_connections(uint32_t connections);
  // Other values of what a reload may change (settings.h), from now on.
  void reconfigure(const ServerOptions& options);
  // The home shard's; null where none are taken. Other shards' sessions look at it: set before any
  // shard listens, and it outlives the sessions.
  void set_backups(BackupJobs* backups) { backups_ = backups; }
  BackupJobs* backups() { return backups_; }
  // How much room the disk has; null where nobody looks. It outlives the sessions.
  void set_disk(const DiskRoom* room) { disk_ = room; }
  // RESOURCE_EXHAUSTED for what adds data while the reserve is touched.
  Result<void> admit_growth() const {
    return disk_ == nullptr ? Result<void>() : disk_->admit(options_.disk.reserve_bytes);
  }
  Result<void> admit_growth(std::span<const Mutation> mutations) const {
    return disk_ == nullptr ? Result<void>() : disk_->admit(options_.disk.reserve_bytes, mutations);
  }
  // What the node's program hears from an operator; all of it null in a node without one.
  void set_control(NodeControl control) { control_ = control; }
  const NodeControl& control() const { return control_; }
  // Serves one stream, which a proxy may have opened (proxy_stage.h); for tests too.
  void serve(std::unique_ptr<ByteStream> stream);

  // ---- security ----
  // From now on, for new connections and for those that there are: a session whose proof does not
  // hold any more, or that may do less than before, is closed.
  void set_policy(SecurityPolicy policy);
  const SecurityPolicy& policy() const { return policy_; }
  // Where security events go; none: nowhere. On every shard the same one, which is shard 0's.
  void set_audit(std::shared_ptr<AuditLog> log) { audit_ = std::move(log); }
  void audit(security::AuditEvent event);
  // The same for what a stranger can cause as often as he likes: at most kFloodPerS a second, and
  // one line for the rest.
  void audit_flood(security::AuditEvent event);
  AddressTable& addresses() { return peers_.front()->addresses_; }
  SecurityCounters& security_counters() { return security_counters_; }
  const SecurityCounters& security_counters() const { return security_counters_; }

  // ---- of the shard ----
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
  // Of the node's memory. Room that is given back is offered to those who wait, on every shard.
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
  // Reads wait for clients to take their answers.
  Result<void> admit_reply() const;
  ExtraOps* extra() { return extra_; }
  const RequestHandler& handler() const { return handler_; }
  ShardServer& peer(ShardId shard) { return *peers_[shard.value()]; }
  uint32_t frame_bytes() const { return frame_bytes_; }
  int64_t started_us() const { return started_us_; }

  // ---- of the requests; scratch that one request uses within one call ----
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
  size_t later_length() const { return later_.size(); }  // work that waits for its turn

  // Work that goes on in the next loop turn, first come first served; what a turn has no time for
  // (kLaterShareUs) waits for the one after it.
  void continue_later(LaterWork& work);

  bool on_turn() override;
  bool may_sleep() override {
    return flush_.empty() && later_.empty() && !map_changed_ && meter_.empty();
  }

 private:
  static constexpr int64_t kGarbageLogUs = 60'000'000;
  // Of a turn, for work that was put off; a piece that has begun is finished.
  static constexpr int64_t kLaterShareUs = 300;

  static constexpr uint64_t kFloodPerS = 100;

  void offer_memory() {
    if (memory().has_waiters()) call_memory_queues();
  }
  void call_memory_queues();
  Async<void> accept_loop();
  Async<void> open(ProxiedStream client, AddressTable::Opening opening);
  void begin(ProxiedStream client, StreamFacts facts, AddressTable::Opening opening);
  void count_failed_opening(const Error& error);
  void leave();
  Async<void> serve_proxied(std::unique_ptr<ByteStream> stream);
  void serve_client(ProxiedStream client);
  bool drained() const;  // every session has ended or is of no further use
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
  ExtraOps* extra_;
  const RequestHandler& handler_;
  const uint32_t frame_bytes_;
  const int64_t started_us_;
  Admission admission_;
  uint32_t connections_bound_ = UINT32_MAX;
  NodeMemory memory_;       // the first shard's is the node's
  AddressTable addresses_;  // likewise

  std::unique_ptr<Listener> listener_;
  Event accept_ended_;
  boost::intrusive::list<ProxyStage, boost::intrusive::constant_time_size<false>> proxy_stages_;
  std::unordered_set<Session*> sessions_;
  Notify session_left_;
  bool stopping_ = false;

  SecurityPolicy policy_;
  SecurityCounters security_counters_;
  Units handshakes_{kMaxHandshakes};
  std::unordered_set<ByteStream*> openings_;  // whose first bytes are waited for
  std::shared_ptr<AuditLog> audit_;
  int64_t flood_second_ = 0;
  uint64_t flood_lines_ = 0;
  uint64_t flood_left_out_ = 0;

  std::vector<Session*> flush_;
  std::vector<Session*> flushing_;
  std::deque<LaterWork*> later_;
  MapWaiters map_waiters_;
  MemoryQueue memory_queue_;
  bool watching_ = true;      // the table map
  bool map_changed_ = false;  // and nobody was told yet
  flatbuffers::FlatBufferBuilder builder_;
  wire::DecodedWrites writes_;
  Counters counters_;
  RequestMeter meter_;

  int64_t garbage_logged_us_ = 0;
  uint64_t garbage_unlogged_ = 0;
};

}  // namespace cellar::server
