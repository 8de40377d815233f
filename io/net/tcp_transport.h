// TcpNetwork: byte streams over TCP. It listens and connects on Asio's epoll reactor; its streams
// read and write there too, or where DescriptorStreams does it (io/net/uring).
#pragma once

#include <memory>
#include <string>

#include "io/loop/timers.h"
#include "io/net/transport.h"

namespace cellar {

// Makes streams of connected sockets.
class DescriptorStreams {
 public:
  virtual ~DescriptorStreams() = default;
  // Takes `fd`, which does not block. `peer`: for ByteStream::peer().
  virtual std::unique_ptr<ByteStream> make(int fd, std::string peer) = 0;
};

// One per loop; must outlive the operations started on it, but not its streams.
class TcpNetwork final : public Network {
 public:
  static constexpr int kBacklog = 1024;
  static constexpr int64_t kAcceptPauseUs = 50'000;  // if descriptors or memory run out

  // Without `streams` they are those of the reactor.
  TcpNetwork(ShardExecutor executor, Timers& timers,
             std::shared_ptr<DescriptorStreams> streams = nullptr)
      : executor_(executor), timers_(timers), streams_(std::move(streams)) {}

  Async<Result<std::unique_ptr<Listener>>> listen(std::string host, uint16_t port,
                                                  bool reuse_port) override;
  Async<Result<std::unique_ptr<ByteStream>>> connect(std::string host, uint16_t port,
                                                     int64_t timeout_us) override;

 private:
  ShardExecutor executor_;
  Timers& timers_;
  const std::shared_ptr<DescriptorStreams> streams_;
};

}  // namespace cellar
