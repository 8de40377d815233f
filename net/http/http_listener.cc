#include "net/http/http_listener.h"

#include <algorithm>
#include <unordered_map>

#include "io/base/check.h"

namespace cellar::http {

HttpListener::HttpListener(ShardExecutor executor, Timers& timers, HttpService& service,
                           std::unique_ptr<Listener> listener)
    : executor_(executor), timers_(timers), service_(service), listener_(std::move(listener)) {}

HttpListener::~HttpListener() {
  CHECK(connections_.empty(), "the HTTP listener ends with {} connections", connections_.size());
}

void HttpListener::run() { spawn(executor_, accept_loop()); }

Async<void> HttpListener::accept_loop() {
  while (!stopping_) {
    Result<std::unique_ptr<ByteStream>> stream = co_await listener_->accept();
    if (!stream) {
      if (stream.error().code == Errc::cancelled) break;
      continue;
    }
    const Place place = stopping_ ? Place::none : make_room();
    if (place == Place::none) {
      ++refused_;
      (*stream)->close();
      continue;
    }
    ++accepted_;
    auto connection = std::make_unique<HttpConnection>(std::move(*stream), timers_, service_,
                                                       place == Place::open_routes);
    connections_.insert(connection.get());
    spawn(executor_, serve(std::move(connection)));
  }
  accept_ended_.set();
}

// A dropped connection leaves one turn later and does not count meanwhile; the first bound limits
// those.
HttpListener::Place HttpListener::make_room() {
  if (connections_.size() >= 2 * (kMaxConnections + kProbePlaces)) return Place::none;
  const auto open = static_cast<size_t>(std::ranges::count_if(
      connections_, [](const HttpConnection* one) { return !one->dropped(); }));
  if (open < kMaxConnections) return Place::any;
  if (HttpConnection* slow = slowest()) {
    slow->drop();
    return Place::any;
  }
  return open < kMaxConnections + kProbePlaces ? Place::open_routes : Place::none;
}

// Null if all are at work.
HttpConnection* HttpListener::slowest() {
  std::unordered_map<std::string_view, size_t> of_network;
  for (const HttpConnection* one : connections_) {
    if (!one->dropped()) ++of_network[one->network()];
  }
  const auto before = [&](const HttpConnection& a, const HttpConnection& b) {
    const size_t of_a = of_network[a.network()];
    const size_t of_b = of_network[b.network()];
    return of_a != of_b ? of_a > of_b : a.waits_since_us() < b.waits_since_us();
  };
  HttpConnection* slowest = nullptr;
  for (HttpConnection* one : connections_) {
    if (one->dropped() || one->at_work()) continue;
    if (slowest == nullptr || before(*one, *slowest)) slowest = one;
  }
  return slowest;
}

Async<void> HttpListener::serve(std::unique_ptr<HttpConnection> connection) {
  co_await connection->run();
  connections_.erase(connection.get());
  connection.reset();
  left_.notify_all();
}

Async<void> HttpListener::stop() {
  stopping_ = true;
  listener_->close();
  co_await accept_ended_.wait();
  for (HttpConnection* one : connections_) one->finish();
  while (!connections_.empty()) co_await left_.wait();
}

}  // namespace cellar::http
