#include "net/server/shard/shard_server.h"

#include "io/base/log.h"

namespace cellar::server {

ShardServer::ShardServer(Shard& shard, engine::Node& node, const ServerOptions& options,
                         const NodeFacts& facts, const std::vector<ShardServer*>& peers,
                         const Clock& wall, const RequestHandler& handler)
    : shard_(shard),
      node_(node),
      engine_(node.engine(shard.id())),
      options_(options),
      facts_(facts),
      peers_(peers),
      wall_(wall),
      handler_(handler),
      frame_bytes_(server::frame_bytes(options.engine)),
      started_us_(wall.boot_us()),
      admission_(options.net.connections),
      memory_(options.engine.memory_bytes, frame_bytes_),
      addresses_(shard.random().next()),
      map_waiters_(shard.timers()),
      meter_(wall) {
  shard_.loop().add_hook(*this);
  node_.watch_tables(id(), this);
}

ShardServer::~ShardServer() {
  CHECK(sessions_.empty(), "shard {} stops with {} connections", id(), sessions_.size());
  unwatch();
  shard_.loop().remove_hook(*this);
}

void ShardServer::unwatch() {
  if (std::exchange(watching_, false)) node_.watch_tables(id(), nullptr);
}

void ShardServer::listen(std::unique_ptr<Listener> listener) {
  listener_ = std::move(listener);
  spawn(executor(), accept_loop());
}

void ShardServer::reconfigure(const ServerOptions& options) {
  options_ = options;
  admission_.set_max_connections(std::min(options.net.connections, connections_bound_));
}

void ShardServer::bound_connections(uint32_t connections) {
  connections_bound_ = connections;
  admission_.set_max_connections(std::min(options_.net.connections, connections_bound_));
}

Result<void> ShardServer::admit_reply() const {
  TRY_VOID(admission_.check_replies());
  return peers_.front()->memory_.admit_answer();
}

Async<void> ShardServer::accept_loop() {
  while (!stopping_) {
    Result<std::unique_ptr<ByteStream>> stream = co_await listener_->accept();
    if (!stream) {
      if (stream.error().code == Errc::cancelled) break;
      log_warn("server", "accept failed shard={} error=\"{}\"", id(), stream.error().message);
      continue;
    }
    serve(std::move(*stream));
  }
  accept_ended_.set();
}

void ShardServer::serve(std::unique_ptr<ByteStream> stream) {
  if (stopping_ || !admission_.enter_connection()) {
    ++counters_.refused;
    stream->close();
    return;
  }
  ++counters_.accepted;
  if (ProxyStage::needed(*stream, options_.net.proxy)) {
    spawn(executor(), serve_proxied(std::move(stream)));
  } else {
    serve_client({std::move(stream), {}});
  }
}

Async<void> ShardServer::serve_proxied(std::unique_ptr<ByteStream> stream) {
  Result<ProxiedStream> client;
  {
    ProxyStage stage(std::move(stream), options_.net.proxy, timers());
    proxy_stages_.push_back(stage);
    client = co_await stage.run(options_.net.handshake_timeout_us);
    const bool garbage = !client && client.error().code != Errc::unavailable &&
                         client.error().code != Errc::cancelled;
    if (garbage) log_garbage(stage.peer(), client.error().message);
  }
  if (client && !stopping_) {
    serve_client(std::move(*client));
    co_return;
  }
  if (client) client->stream->close();
  leave();
}

void ShardServer::serve_client(ProxiedStream client) {
  auto opening = addresses().open(client.stream->peer());
  if (!opening) {
    ++security_counters_.openings_refused;
    client.stream->close();
    return leave();
  }
  // Everything else before the preface is read in open().
  if (policy_.tls == nullptr) return begin(std::move(client), {}, std::move(*opening));
  spawn(executor(), open(std::move(client), std::move(*opening)));
}

Async<void> ShardServer::open(ProxiedStream client, PeerLimiter::Opening opening) {
  ByteStream* const raw = client.stream.get();
  const std::string peer = client.stream->peer();
  openings_.insert(raw);
  auto opened = co_await open_tls(timers(), handshakes_, std::move(client.stream), policy_.tls,
                                  options_.net.handshake_timeout_us);
  openings_.erase(raw);
  if (!opened || stopping_) {
    if (!opened && !stopping_) {
      count_failed_opening(opened.error());
      log_garbage(peer, opened.error().message);
    }
    if (opened) opened->stream->close();
    leave();
    co_return;
  }
  ++security_counters_.tls_handshakes;
  if (opened->resumed) ++security_counters_.tls_resumed;
  begin({std::move(opened->stream), std::move(client.via)}, std::move(opened->facts),
        std::move(opening));
}

void ShardServer::count_failed_opening(const Error& error) {
  if (error.code == Errc::deadline_exceeded) {
    ++security_counters_.tls_handshake_timeouts;
  } else if (error.code == Errc::failed_precondition) {
    ++security_counters_.tls_plain_refused;
  } else {
    ++security_counters_.tls_handshake_failures;
  }
}

void ShardServer::begin(ProxiedStream client, StreamFacts facts, PeerLimiter::Opening opening) {
  auto* session = new Session(*this, std::move(client.stream), std::move(facts), std::move(opening),
                              std::move(client.via));
  sessions_.insert(session);
  spawn(executor(), session->run());
}

void ShardServer::remove(Session& session) {
  if (session.flush_queued) {
    std::erase(flush_, &session);
    std::replace(flushing_.begin(), flushing_.end(), &session, static_cast<Session*>(nullptr));
  }
  meter_.forget(session);
  sessions_.erase(&session);
  delete &session;
  leave();
}

void ShardServer::leave() {
  admission_.leave_connection();
  session_left_.notify_all();
}

void ShardServer::set_policy(SecurityPolicy policy) {
  policy_ = std::move(policy);
  for (Session* session : sessions_) {
    if (!session->renew_identity()) ++security_counters_.sessions_revoked;
  }
}

void ShardServer::audit(security::AuditEvent event) {
  if (audit_ == nullptr) return;
  mailbox().post_on(ShardId{0}, [log = audit_, event = std::move(event)]() mutable {
    log->record(std::move(event));
  });
}

void ShardServer::audit_flood(security::AuditEvent event) {
  const int64_t second = timers().now_us() / 1'000'000;
  if (second != flood_second_) {
    flood_second_ = second;
    flood_lines_ = 0;
    if (const uint64_t count = std::exchange(flood_left_out_, 0); count > 0) {
      security::AuditEvent left_out;
      left_out.event = "left_out";
      left_out.detail = "failed logins and denials, too many in a second";
      left_out.count = count;
      audit(std::move(left_out));
    }
  }
  if (++flood_lines_ <= kFloodPerS) {
    audit(std::move(event));
  } else {
    ++flood_left_out_;
  }
}

bool ShardServer::drained() const {
  for (const Session* session : sessions_) {
    if (!session->may_end()) return false;
  }
  return true;
}

Async<void> ShardServer::stop() {
  stopping_ = true;
  if (listener_) {
    listener_->close();
    co_await accept_ended_.wait();
  }
  for (ProxyStage& stage : proxy_stages_) stage.close();
  for (ByteStream* stream : openings_) stream->close();
  for (Session* session : sessions_) session->say_goaway();
  constexpr int64_t kLookUs = 5'000;
  const int64_t until_us = timers().now_us() + options_.net.drain_timeout_us;
  while (!drained() && timers().now_us() < until_us) {
    co_await sleep_us(timers(), kLookUs);
  }
  for (Session* session : sessions_) session->close();
  while (admission_.connections() > 0) co_await session_left_.wait();
  unwatch();  // the node may be closed from here on
}

void ShardServer::queue_flush(Session& session) {
  session.flush_queued = true;
  flush_.push_back(&session);
}

void ShardServer::call_memory_queues() {
  for (ShardServer* peer : peers_) {
    if (peer->memory_queue_.wanted()) peer->memory_queue_.call(mailbox(), peer->id());
  }
}

void ShardServer::defer(DeferredTask& work) { later_.push_back(&work); }

void ShardServer::run_later() {
  const int64_t began_us = wall_.boot_us();
  for (size_t left = later_.size(); left > 0; --left) {
    DeferredTask* work = later_.front();
    later_.pop_front();
    work->go_on();
    if (wall_.boot_us() - began_us >= kLaterShareUs) return;
  }
}

bool ShardServer::on_turn() {
  meter_.turn(timers().now_us(), options_.net.slow_request_us);
  if (may_sleep()) return false;
  if (std::exchange(map_changed_, false)) map_waiters_.wake_all();
  if (!later_.empty()) run_later();
  flushing_.swap(flush_);
  for (Session* session : flushing_) {
    if (session == nullptr) continue;
    session->flush_queued = false;
    session->flush();
  }
  flushing_.clear();
  meter_.sent();
  return true;
}

void ShardServer::log_garbage(const std::string& peer, const std::string& what) {
  const int64_t now_us = timers().now_us();
  if (garbage_logged_us_ != 0 && now_us - garbage_logged_us_ < kGarbageLogUs) {
    ++garbage_unlogged_;
    return;
  }
  log_warn("server", "closed a connection peer={} reason=\"{}\" more_since_last_line={}", peer,
           what, garbage_unlogged_);
  garbage_logged_us_ = now_us;
  garbage_unlogged_ = 0;
}

}  // namespace cellar::server
