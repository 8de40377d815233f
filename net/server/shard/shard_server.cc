#include "net/server/shard/shard_server.h"

#include <array>
#include <iterator>

#include "io/base/log.h"

namespace cellar::server {

ShardServer::ShardServer(Shard& shard, engine::Node& node, const ServerOptions& options,
                         NodeShared& shared, const Clock& wall, const RequestHandler& handler)
    : LocalShard(shard, node, options, wall),
      shared_(shared),
      handler_(handler),
      security_(shard.mailbox(), shard.timers()),
      map_waiters_(shard.timers()),
      meter_(wall) {
  loop().add_hook(*this);
  node.watch_tables(id(), this);
}

ShardServer::~ShardServer() {
  CHECK(sessions_.empty(), "shard {} stops with {} connections", id(), sessions_.size());
  unwatch();
  loop().remove_hook(*this);
}

void ShardServer::unwatch() {
  if (std::exchange(watching_, false)) node().watch_tables(id(), nullptr);
}

void ShardServer::listen(std::unique_ptr<Listener> listener) {
  listener_ = std::move(listener);
  spawn(executor(), accept_loop());
}

void ShardServer::reconfigure(const ServerOptions& options) {
  set_options(options);
  admission().set_max_connections(std::min(options.net.connections, connections_bound_));
}

void ShardServer::bound_connections(uint32_t connections) {
  connections_bound_ = connections;
  admission().set_max_connections(std::min(options().net.connections, connections_bound_));
}

Result<void> ShardServer::admit_reply() const {
  TRY_VOID(admission().check_replies());
  return shared_.memory.admit_answer();
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
  if (stopping_ || !admission().enter_connection()) {
    ++counters_.refused;
    stream->close();
    return;
  }
  ++counters_.accepted;
  if (ProxyStage::needed(*stream, options().net.proxy)) {
    spawn(executor(), serve_proxied(std::move(stream)));
  } else {
    serve_client({std::move(stream), {}});
  }
}

Async<void> ShardServer::serve_proxied(std::unique_ptr<ByteStream> stream) {
  Result<ProxiedStream> client;
  {
    ProxyStage stage(std::move(stream), options().net.proxy, timers());
    proxy_stages_.push_back(stage);
    client = co_await stage.run(options().net.handshake_timeout_us);
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
  auto opening = shared_.addresses.open(client.stream->peer());
  if (!opening) {
    ++security_.counters().openings_refused;
    client.stream->close();
    return leave();
  }
  // Everything else before the preface is read in open().
  if (security_.policy().tls == nullptr) return begin(std::move(client), {}, std::move(*opening));
  spawn(executor(), open(std::move(client), std::move(*opening)));
}

Async<void> ShardServer::open(ProxiedStream client, PeerLimiter::Opening opening) {
  ByteStream* const raw = client.stream.get();
  const std::string peer = client.stream->peer();
  openings_.insert(raw);
  auto opened = co_await open_tls(timers(), handshakes_, std::move(client.stream),
                                  security_.policy().tls, options().net.handshake_timeout_us);
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
  ++security_.counters().tls_handshakes;
  if (opened->resumed) ++security_.counters().tls_resumed;
  begin({std::move(opened->stream), std::move(client.via)}, std::move(opened->facts),
        std::move(opening));
}

void ShardServer::count_failed_opening(const Error& error) {
  if (error.code == Errc::deadline_exceeded) {
    ++security_.counters().tls_handshake_timeouts;
  } else if (error.code == Errc::failed_precondition) {
    ++security_.counters().tls_plain_refused;
  } else {
    ++security_.counters().tls_handshake_failures;
  }
}

void ShardServer::begin(ProxiedStream client, StreamFacts facts, PeerLimiter::Opening opening) {
  auto* session = new Session(*this, std::move(client.stream), std::move(facts), std::move(opening),
                              std::move(client.via));
  sessions_.insert(session);
  session->start();
}

Async<void> ShardServer::move_connection(ShardId to, MovedConnection moved) {
  ShardServer& there = peer(to);
  auto arrive = [&there, &moved]() -> Async<void> {
    there.take_over(std::move(moved));
    co_return;
  };
  // The connection counts here until it has arrived, so neither shard ends meanwhile.
  co_await mailbox().call_on(to, arrive);
}

void ShardServer::take_over(MovedConnection moved) {
  if (stopping_ || !admission().enter_connection()) {
    ++counters_.refused;
    moved.stream->close();
    return;
  }
  if (!moved.stream->attach(executor())) return leave();
  ++counters_.taken_over;
  auto* session = new Session(*this, std::move(moved));
  sessions_.insert(session);
  session->start();
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
  admission().leave_connection();
  session_left_.notify_all();
}

void ShardServer::set_policy(SecurityPolicy policy) {
  security_.set_policy(std::move(policy));
  for (Session* session : sessions_) {
    if (!session->renew_identity()) ++security_.counters().sessions_revoked;
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
  const int64_t until_us = timers().now_us() + options().net.drain_timeout_us;
  while (!drained() && timers().now_us() < until_us) {
    co_await sleep_us(timers(), kLookUs);
  }
  for (Session* session : sessions_) session->close();
  engine().end_waits();
  while (admission().connections() > 0) co_await session_left_.wait();
  unwatch();  // the node may be closed from here on
}

void ShardServer::queue_flush(Session& session) {
  session.flush_queued = true;
  flush_.push_back(&session);
}

void ShardServer::call_memory_queues() {
  for (ShardServer* peer : shared_.shards) {
    if (peer->memory_queue_.wanted()) peer->memory_queue_.call(mailbox(), peer->id());
  }
}

void ShardServer::defer(DeferredTask& work) { later_.push_back(&work); }

void ShardServer::run_later() {
  const int64_t began_us = wall().boot_us();
  for (size_t left = later_.size(); left > 0; --left) {
    DeferredTask* work = later_.front();
    later_.pop_front();
    work->go_on();
    if (wall().boot_us() - began_us >= kLaterShareUs) return;
  }
}

// Looks at the requests of sessions with new bytes, as many as are expected together. Returns the
// number of these sessions.
size_t ShardServer::look_ahead() {
  std::array<engine::ExpectedRow, engine::kMostExpectedRows> rows;
  size_t count = 0;
  size_t sessions = 0;
  for (Session& session : received_) {
    if (count == rows.size()) break;
    count += session.look_ahead(std::span(rows).subspan(count));
    ++sessions;
  }
  if (count > 1) engine().expect_rows(std::span(rows).first(count));
  return sessions;
}

// Sessions with new bytes advance. One alone looks ahead itself, where it has several requests.
bool ShardServer::deliver() {
  if (received_.empty()) return false;
  const bool alone = std::next(received_.begin()) == received_.end();
  while (!received_.empty()) {
    for (size_t left = alone ? 1 : look_ahead(); left > 0 && !received_.empty(); --left) {
      Session& session = received_.front();
      received_.pop_front();
      session.advance();
    }
  }
  return true;
}

bool ShardServer::on_turn() {
  meter_.turn(timers().now_us(), options().net.slow_request_us);
  if (may_sleep()) return false;
  if (std::exchange(map_changed_, false)) {
    map_waiters_.wake_all();
    stale_news_.map_changed();
  }
  if (stale_news_.due()) stale_news_.turn(tables());
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
