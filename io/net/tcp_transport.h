// TcpNetwork: byte streams over TCP, on Asio's epoll reactor.
#pragma once

#include "io/loop/timers.h"
#include "io/net/transport.h"

namespace cellar {

// One per loop; must outlive the operations started on it, but not its streams.
class TcpNetwork final : public Network {
 public:
  static constexpr int kBacklog = 1024;
  static constexpr int64_t kAcceptPauseUs = 50'000;  // if descriptors or memory run out

  TcpNetwork(ShardExecutor executor, Timers& timers) : executor_(executor), timers_(timers) {}

  Async<Result<std::unique_ptr<Listener>>> listen(std::string host, uint16_t port,
                                                  bool reuse_port) override;
  Async<Result<std::unique_ptr<ByteStream>>> connect(std::string host, uint16_t port,
                                                     int64_t timeout_us) override;

 private:
  ShardExecutor executor_;
  Timers& timers_;
};

}  // namespace cellar
