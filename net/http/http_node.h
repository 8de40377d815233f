// HttpNode: answers HTTP requests for a node according to the table of routes.
//
// HTTP has its own loop and low-priority thread beside the shards. Parsing, aggregation and
// formatting therefore do not delay requests on shards; the listener answers while the node starts
// and while a shard is stuck; and hostile input reaches no shard. A handler calls a shard by one
// message: a coroutine on that shard's loop (which may use the mailboxes as a session does) whose
// result returns to this loop.
#pragma once

#include <optional>

#include <boost/asio/post.hpp>

#include "io/loop/timers.h"
#include "io/loop/waiter.h"
#include "net/http/gatekeeper.h"
#include "net/http/http_message.h"
#include "net/http/node_reader.h"
#include "net/http/served_node.h"
#include "net/server/config/config.h"
#include "net/server/control/readiness.h"

namespace cellar::http {

class HttpListener;
struct Route;

// One loop.
class HttpNode final : public HttpService {
 public:
  // All arguments must outlive it. `executor` and `timers` belong to the HTTP loop.
  HttpNode(ShardExecutor executor, Timers& timers, const server::Config& config,
           server::Readiness& readiness);

  // The node is up: from here on handlers may call it. `served` must outlive the last reply.
  void serve(ServedNode& served);
  // Stops background work; requests in progress continue.
  Async<void> stop() { return reader_.stop(); }

  Async<HttpResponse> answer(HttpRequest& request) override;
  // The present principals, which may change while the node serves. Null: authentication is
  // disabled. REQUIRES: served().
  Async<std::shared_ptr<const security::Principals>> principals();

  server::Readiness& readiness() { return readiness_; }
  // As read at start; a reload may have changed the values in force.
  const server::Config& config() const { return config_; }
  const server::ServerOptions& options() const { return config_.options; }
  Timers& timers() { return timers_; }
  ShardExecutor executor() { return executor_; }
  NodeReader& reader() { return reader_; }
  // For its own figures; may be null.
  const HttpListener* listener() const { return listener_; }
  void set_listener(const HttpListener* listener) { listener_ = listener; }
  // Null until the node serves.
  ServedNode* served() { return served_; }

  // Runs the coroutine fn() on a shard and returns its result on this loop. `fn` stays here and is
  // shared with the shard meanwhile. REQUIRES: served().
  template <class F>
  auto ask(ShardId shard, F fn) -> std::invoke_result_t<F&>;
  // The same with fn(shard 0).
  template <class F>
  auto ask_home(F fn) {
    auto there = [this, work = std::move(fn)]() mutable { return work(served_->on(ShardId{0})); };
    return ask(ShardId{0}, std::move(there));
  }

 private:
  Async<HttpResponse> answer_known(HttpRequest& request);
  Async<HttpResponse> answer_route(const Route& route, HttpRequest& request);
  // Writes to the security log, if the node has one. REQUIRES: served().
  Async<void> audit(security::AuditEvent event);

  const ShardExecutor executor_;
  Timers& timers_;
  const server::Config& config_;
  server::Readiness& readiness_;
  Gatekeeper gatekeeper_;
  ServedNode* served_ = nullptr;
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
  const ShardExecutor there = served_->executor(shard);
  asio::post(there, [&, home = executor_] {
    spawn(there, detail::run_and_return<T, F>(fn, result, home, waiter));
  });
  co_await waiter.wait();
  co_return std::move(*result);
}

}  // namespace cellar::http
