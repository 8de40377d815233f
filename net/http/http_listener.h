// HttpListener: accepts and owns the HTTP connections.
//
// A new connection normally finds a place, so that silent or slow clients cannot block health
// checks:
//   1. Below kMaxConnections it is accepted.
//   2. Otherwise another one is closed for it: of the address with the most connections, the one
//      longest in its phase (waiting for a request, for the rest of one, or for its peer to read a
//      reply). A connection whose request is at work is never closed.
//   3. If all are at work, it gets one of kProbePlaces extra places, which serve only open routes
//      (/healthz, /readyz) and answer 503 to all else; these use no shard, so they end at once.
//   4. Otherwise it is closed. That takes kProbePlaces replies of open routes in the same turn.
#pragma once

#include <memory>
#include <unordered_set>

#include "io/loop/event.h"
#include "io/loop/timers.h"
#include "io/net/transport.h"
#include "net/http/http_connection.h"

namespace cellar::http {

class HttpListener {
 public:
  static constexpr size_t kMaxConnections = 64;
  static constexpr size_t kProbePlaces = 16;

  // Serves the connections of `listener` from run() on. The other arguments must outlive it.
  HttpListener(ShardExecutor executor, Timers& timers, HttpService& service,
               std::unique_ptr<Listener> listener);
  ~HttpListener();

  void run();
  // Returns when every pending reply is sent (or its peer does not read it) and all connections are
  // closed.
  Async<void> stop();

  size_t connections() const { return connections_.size(); }
  uint64_t accepted() const { return accepted_; }
  uint64_t refused() const { return refused_; }
  const Listener& listener() const { return *listener_; }

 private:
  Async<void> accept_loop();
  Async<void> serve(std::unique_ptr<HttpConnection> connection);
  enum class Place : uint8_t { none, any, open_routes };
  Place make_room();
  HttpConnection* slowest();

  const ShardExecutor executor_;
  Timers& timers_;
  HttpService& service_;
  std::unique_ptr<Listener> listener_;
  std::unordered_set<HttpConnection*> connections_;
  ConditionVariable left_;
  Event accept_ended_;
  bool stopping_ = false;
  uint64_t accepted_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace cellar::http
