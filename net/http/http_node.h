// HttpNode: the node as the HTTP room sees it: what answers requests, by the table of routes.
//
// HTTP has a loop and a thread of its own, at low priority, beside the shards. So requests are
// parsed, figures are added up and text is written where that delays no cell; the listener answers
// while the node still starts and while a shard is stuck; and hostile input meets no shard. What a
// handler wants from a shard it asks by one message: a plain call on that shard's loop (which may
// use the mailboxes as a session does), and the answer comes back to this loop.
#pragma once

#include <optional>

#include <boost/asio/post.hpp>

#include "io/loop/timers.h"
#include "io/loop/waiter.h"
#include "net/http/gatekeeper.h"
#include "net/http/http_message.h"
#include "net/http/node_reader.h"
#include "net/server/config/config.h"
#include "net/server/control/readiness.h"
#include "net/server/server.h"

namespace cellar::http {

class HttpListener;
struct Route;

// One loop.
class HttpNode final : public HttpService {
 public:
  // All outlive it. `executor` and `timers` are of the loop that HTTP runs on.
  HttpNode(ShardExecutor executor, Timers& timers, const server::Config& config,
           server::Readiness& readiness);

  // The node serves: from here on handlers may ask it. The server outlives the last answer.
  void serve(server::Server& server);
  // Its own work ends; requests that are being answered go on.
  Async<void> stop() { return reader_.stop(); }

  Async<HttpResponse> answer(HttpRequest& request) override;
  // Who may be let in now; they may change while the node serves. Null: nobody is asked.
  // REQUIRES: server().
  Async<std::shared_ptr<const security::Principals>> principals();

  server::Readiness& readiness() { return readiness_; }
  // As at the start; a reload may have changed what is in force.
  const server::Config& config() const { return config_; }
  const server::ServerOptions& options() const { return config_.options; }
  Timers& timers() { return timers_; }
  ShardExecutor executor() { return executor_; }
  NodeReader& reader() { return reader_; }
  // For its own figures; may be null.
  const HttpListener* listener() const { return listener_; }
  void set_listener(const HttpListener* listener) { listener_ = listener; }
  // Null until the node serves.
  server::Server* server() { return server_; }

  // Runs the coroutine fn() on a shard and answers what it answers, back here. `fn` is kept here
  // and shared with the shard meanwhile. REQUIRES: server().
  template <class F>
  auto ask(ShardId shard, F fn) -> std::invoke_result_t<F&>;

 private:
  Async<HttpResponse> answer_route(const Route& route, HttpRequest& request);
  // To the security log, if the node has one. REQUIRES: server().
  Async<void> audit(security::AuditEvent event);

  const ShardExecutor executor_;
  Timers& timers_;
  const server::Config& config_;
  server::Readiness& readiness_;
  Gatekeeper gatekeeper_;
  server::Server* server_ = nullptr;
  const HttpListener* listener_ = nullptr;
  NodeReader reader_{*this};
};

namespace detail {
template <class T, class F>
Async<void> run_and_return(F& fn, std::optional<T>& into, ShardExecutor home, Waiter& waiter) {
  into.emplace(co_await fn());
  asio::post(home, [&waiter] { waiter.resume(); });
}
}  // namespace detail

template <class F>
auto HttpNode::ask(ShardId shard, F fn) -> std::invoke_result_t<F&> {
  using T = typename cellar::detail::AsyncValue<std::invoke_result_t<F&>>::type;
  std::optional<T> result;
  Waiter waiter;
  const ShardExecutor there = server_->executor(shard);
  asio::post(there, [&, home = executor_] {
    spawn(there, detail::run_and_return<T, F>(fn, result, home, waiter));
  });
  co_await waiter.wait();
  co_return std::move(*result);
}

}  // namespace cellar::http
