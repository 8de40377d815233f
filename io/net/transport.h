// Byte streams between machines: the interface. Implementations: TCP on Asio's epoll reactor
// (tcp_transport.h) and in memory on virtual time (sim_transport.h).
//
// Every object belongs to one loop. A stream has at most one read and one write outstanding; they
// may overlap. After any error only close() may be called.
//
// Destruction closes, but requires that no operation is outstanding: call close(), await the
// pending operations (they end with CANCELLED), then destroy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "io/base/bytes.h"
#include "io/base/result.h"
#include "io/loop/async.h"

namespace cellar {

// Receives the result of ByteStream::start_receive().
class ReceiveHandler {
 public:
  // As the result of ByteStream::read_some().
  virtual void on_received(Result<size_t> bytes) = 0;

 protected:
  ~ReceiveHandler() = default;
};

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  ByteStream() = default;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  // Reads at least one byte; 0 is the orderly end of the peer's stream. `into` is not empty and
  // must stay valid meanwhile. Errors: CANCELLED after close(), UNAVAILABLE if the connection
  // broke.
  virtual Async<Result<size_t>> read_some(std::span<std::byte> into) = 0;
  // Starts read_some() without a coroutine, if the stream can do that: `handler` is called once, on
  // the loop and never inside this call, and must live until then. False: nothing was started.
  virtual bool start_receive(std::span<std::byte> /*into*/, ReceiveHandler& /*handler*/) {
    return false;
  }
  // Writes everything, in one system call if the peer keeps up. The span, its elements and the
  // bytes must stay valid meanwhile.
  virtual Async<Result<void>> write(std::span<const Bytes> parts) = 0;
  // Writes what can be written without waiting, possibly 0 bytes. Not while a write() is
  // outstanding.
  virtual Result<size_t> try_write(std::span<const Bytes> parts) = 0;
  // Ends both directions and completes pending operations with CANCELLED. Idempotent.
  virtual void close() = 0;
  // "HOST:PORT" of the other side, for logs.
  virtual std::string peer() const = 0;

  // The stream changes its loop: detach() on the old loop, with no operation outstanding, then
  // attach() on the thread of the new one; in between only close() may be called. False: the stream
  // cannot change its loop and stays as it was.
  virtual bool detach() { return false; }
  // On an error the stream is closed.
  virtual Result<void> attach(ShardExecutor executor);
};

class Listener {
 public:
  virtual ~Listener() = default;
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Waits while descriptors are exhausted. Errors: CANCELLED after close().
  virtual Async<Result<std::unique_ptr<ByteStream>>> accept() = 0;
  virtual std::string address() const = 0;  // "HOST:PORT" actually bound
  virtual uint16_t port() const = 0;
  virtual void close() = 0;
};

class Network {
 public:
  virtual ~Network() = default;
  Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // Port 0: the system chooses. With `reuse_port` several shards may listen on one port and the
  // kernel distributes connections. Errors: INVALID_ARGUMENT for a host that does not resolve,
  // PERMISSION_DENIED, UNAVAILABLE (address in use).
  virtual Async<Result<std::unique_ptr<Listener>>> listen(std::string host, uint16_t port,
                                                          bool reuse_port) = 0;
  // Errors: DEADLINE_EXCEEDED after timeout_us, UNAVAILABLE (refused, unreachable, unknown host).
  virtual Async<Result<std::unique_ptr<ByteStream>>> connect(std::string host, uint16_t port,
                                                             int64_t timeout_us) = 0;
};

struct Address {
  std::string host;
  uint16_t port = 0;
};

// "HOST:PORT", "[v6]:PORT" or ":PORT" (all interfaces; host is empty). Errors: INVALID_ARGUMENT.
Result<Address> parse_address(std::string_view text);
std::string format_address(std::string_view host, uint16_t port);  // puts an IPv6 host in brackets

}  // namespace cellar
