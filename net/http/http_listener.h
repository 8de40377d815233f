// HttpListener: accepts and keeps the connections of the HTTP room, at most kMaxConnections. When
// all are taken the one that has been idle longest makes room; when none is idle the newcomer is
// closed. So silent connections keep nobody out.
#pragma once

#include <memory>
#include <unordered_set>

#include "io/runtime/event.h"
#include "io/runtime/timers.h"
#include "io/runtime/transport.h"
#include "net/http/http_connection.h"

namespace cellar::http {

class HttpListener {
 public:
  static constexpr size_t kMaxConnections = 64;

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
  bool make_room();

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
