// OperateLoop: a connection for the operations of operate.fbs with its own loop: one request at a
// time, like SyncClient. Used by backup_client.h and control_client.h; for the program's main
// thread.
#pragma once

#include <memory>
#include <optional>

#include "io/loop/shard_loop.h"
#include "io/net/tcp_transport.h"
#include "net/client/codec/encode.h"
#include "net/client/connections/dispatcher.h"

namespace cellar::client {

class OperateLoop {
 public:
  explicit OperateLoop(ClientOptions options);
  ~OperateLoop();
  OperateLoop(const OperateLoop&) = delete;
  OperateLoop& operator=(const OperateLoop&) = delete;

  // `body` is copied. `looks`: the request is read-only and may always be retried.
  template <class T>
  Result<T> ask(uint16_t op, Bytes body, bool looks, Result<T> (*decode)(const Answer&));
  void sleep_us(int64_t us);

 private:
  Request request_of(uint16_t op, Bytes body, bool looks) const;

  ClientOptions options_;
  std::unique_ptr<TcpNetwork> network_;  // outlives coroutines suspended on the loop
  ShardLoop loop_;
  std::shared_ptr<BlockPool> pool_ = std::make_shared<BlockPool>();
  std::optional<Dispatcher> dispatcher_;
};

template <class T>
Result<T> OperateLoop::ask(uint16_t op, Bytes body, bool looks,
                           Result<T> (*decode)(const Answer&)) {
  std::optional<Result<T>> result;
  loop_.turn(false);
  auto handler = [&result](Result<T> r) { result.emplace(std::move(r)); };
  auto* completion =
      HandlerCompletion<T, decltype(handler)>::make(pool_, loop_.executor(), std::move(handler));
  dispatcher_->submit(*UnaryCall<T>::make(pool_, loop_.timers(), request_of(op, body, looks),
                                          decode, false, completion));
  while (!result) loop_.turn(true);
  return *std::move(result);
}

}  // namespace cellar::client
