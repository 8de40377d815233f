#include "net/http/http_listener.h"

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
    if (stopping_ || !make_room()) {
      ++refused_;
      (*stream)->close();
      continue;
    }
    ++accepted_;
    auto connection = std::make_unique<HttpConnection>(std::move(*stream), timers_, service_);
    connections_.insert(connection.get());
    spawn(executor_, serve(std::move(connection)));
  }
  accept_ended_.set();
}

// One that is told to close leaves a turn later, so the bound may be passed by the newcomer.
bool HttpListener::make_room() {
  if (connections_.size() < kMaxConnections) return true;
  if (connections_.size() > 2 * kMaxConnections) return false;
  HttpConnection* longest = nullptr;
  for (HttpConnection* one : connections_) {
    if (one->idle_since_us() == 0) continue;
    if (longest == nullptr || one->idle_since_us() < longest->idle_since_us()) longest = one;
  }
  if (longest == nullptr) return false;
  longest->finish();
  return true;
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
