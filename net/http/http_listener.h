// HttpListener: accepts and keeps the connections of the HTTP room.
//
// A newcomer always finds a place, so that what is silent or slow keeps no health check out:
//   1. While fewer than kMaxConnections are open it has one.
//   2. Else another connection is closed for it: of the address with the most connections, the one
//      that has been longest in its phase, be it that it waits for a request, for the rest of one,
//      or for its peer to take an answer. A connection whose request is at work is never closed.
//   3. Where all are at work it has one of kProbePlaces more, in which open routes alone (/healthz,
//      /readyz) are answered and everything else is 503; these ask no shard, so they end at once.
//   4. Else it is closed. That takes kProbePlaces answers of open routes in the same turn.
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

  // Serves what `listener` accepts, from run() on. The others outlive it.
  HttpListener(ShardExecutor executor, Timers& timers, HttpService& service,
               std::unique_ptr<Listener> listener);
  ~HttpListener();

  void run();
  // Returns when every answer on its way is sent (or its peer does not take it) and all is closed.
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
  Notify left_;
  Event accept_ended_;
  bool stopping_ = false;
  uint64_t accepted_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace cellar::http
