// ShardServer: the serving side of one shard. It owns the shard's sessions and the pools of their
// requests, and requests from other shards run on it. Requests that need less are given a part:
// LocalShard, ShardSecurity, or NodeShared.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "engine/engine.h"
#include "io/loop/gate.h"
#include "io/loop/loop.h"
#include "io/net/transport.h"
#include "net/server/accept/proxy_stage.h"
#include "net/server/accept/tls_accept.h"
#include "net/server/limits/memory_queue.h"
#include "net/server/policy/shard_security.h"
#include "net/server/shard/conditional_op.h"
#include "net/server/shard/get_plan.h"
#include "net/server/shard/local_shard.h"
#include "net/server/shard/map_wait.h"
#include "net/server/shard/node_shared.h"
#include "net/server/shard/pool.h"
#include "net/server/shard/read_op.h"
#include "net/server/shard/request_handler.h"
#include "net/server/shard/request_meter.h"
#include "net/server/shard/session.h"
#include "net/server/shard/stale_news.h"
#include "net/server/shard/write_op.h"
#include "net/wire/point_codec.h"
#include "net/wire/read_codec.h"
#include "net/wire/write_codec.h"

namespace cellar::server {

class ShardServer final : public LocalShard, public LoopHook, private engine::TableMapWatcher {
 public:
  struct Counters {
    uint64_t requests = 0;
    uint64_t handed_over = 0;
    uint64_t slices = 0;            // slices of reads, on this shard's tablets
    uint64_t released_cursors = 0;  // by waiting streams
    uint64_t accepted = 0;          // connections
    uint64_t taken_over = 0;        // connections that other shards handed over
    uint64_t refused = 0;           // connections at the limit or while stopping
    uint64_t garbage = 0;           // connections closed because of invalid bytes
    uint64_t received_bytes = 0;
    uint64_t sent_bytes = 0;
  };

  // All references must outlive it.
  ShardServer(Shard& shard, engine::Node& node, const ServerOptions& options, NodeShared& shared,
              const Clock& wall, const RequestHandler& handler);
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
  // Serves one stream, possibly from a proxy (proxy_stage.h). Also used by tests.
  void serve(std::unique_ptr<ByteStream> stream);
  // Hands a connection over to the shard that its hello names. That shard closes it if it stops or
  // has as many connections as it may.
  Async<void> move_connection(ShardId to, MovedConnection moved);

  // Applies to new and existing connections: a session whose proof is no longer valid or whose
  // permissions shrink is closed.
  void set_policy(SecurityPolicy policy);

  // ---- its parts ----
  NodeShared& shared() { return shared_; }
  ShardServer& peer(ShardId shard) { return shared_.shard(shard); }
  ShardSecurity& security() { return security_; }
  const RequestHandler& handler() const { return handler_; }
  MapWaiters& map_waiters() { return map_waiters_; }
  StaleNews& stale_news() { return stale_news_; }
  NodeMemory& memory() { return shared_.memory; }
  MemoryQueue& memory_queue() { return memory_queue_; }
  RequestMeter& meter() { return meter_; }

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

  // ---- requests; scratch space for one call ----
  wire::DecodedWrites& writes() { return writes_; }
  // After a large request.
  void trim_writes() {
    constexpr size_t kKept = 4096;
    if (writes_.rows.capacity() > kKept || writes_.mutations.capacity() > kKept) writes_ = {};
  }
  wire::DecodedGet& get() { return get_; }
  std::span<wire::Frame> peeked() { return peeked_; }
  ReadSpec& point_spec() { return point_spec_; }
  GetPlan& get_plan() { return get_plan_; }
  Pool<SingleWrite> single_writes;
  Pool<BatchWrite> batch_writes;
  Pool<ConditionalOp> conditional_ops;
  Pool<ReadOp> reads;

  // ---- sessions ----
  void queue_flush(Session& session);
  // The session has received bytes: it advances in deliver().
  void queue_received(Session& session) { received_.push_back(session); }
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
  size_t later_length() const { return later_.size(); }  // deferred work waiting for its turn

  // Defers work to the next loop turn, FIFO; work beyond kLaterShareUs of a turn waits for the
  // following one.
  void defer(DeferredTask& work);

  bool deliver() override;
  bool on_turn() override;
  bool may_sleep() override {
    return received_.empty() && flush_.empty() && later_.empty() && !map_changed_ &&
           !stale_news_.due() && meter_.empty();
  }

 private:
  static constexpr int64_t kGarbageLogUs = 60'000'000;
  // Time per turn for deferred work; a piece that has started is finished.
  static constexpr int64_t kLaterShareUs = 300;

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
  void take_over(MovedConnection moved);
  bool drained() const;  // every session has ended or may end
  void run_later();
  size_t look_ahead();
  void table_map_changed() override { map_changed_ = true; }
  void unwatch();

  NodeShared& shared_;
  const RequestHandler& handler_;
  uint32_t connections_bound_ = UINT32_MAX;

  std::unique_ptr<Listener> listener_;
  Event accept_ended_;
  boost::intrusive::list<ProxyStage, boost::intrusive::constant_time_size<false>> proxy_stages_;
  std::unordered_set<Session*> sessions_;
  ConditionVariable session_left_;
  bool stopping_ = false;

  ShardSecurity security_;
  Semaphore handshakes_{kMaxHandshakes};
  std::unordered_set<ByteStream*> openings_;  // streams whose first bytes are awaited

  boost::intrusive::list<Session, boost::intrusive::base_hook<ReceivedHook>,
                         boost::intrusive::constant_time_size<false>>
      received_;
  std::vector<Session*> flush_;
  std::vector<Session*> flushing_;
  std::deque<DeferredTask*> later_;
  MapWaiters map_waiters_;
  StaleNews stale_news_;
  MemoryQueue memory_queue_;
  bool watching_ = true;      // watching the table map
  bool map_changed_ = false;  // the waiters have not been notified yet
  wire::DecodedWrites writes_;
  wire::DecodedGet get_;
  std::array<wire::Frame, engine::kMostExpectedRows> peeked_;
  ReadSpec point_spec_;
  GetPlan get_plan_;
  Counters counters_;
  RequestMeter meter_;

  int64_t garbage_logged_us_ = 0;
  uint64_t garbage_unlogged_ = 0;
};

}  // namespace cellar::server
