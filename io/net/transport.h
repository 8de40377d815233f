// Byte streams between machines: the interface. Bodies: TCP over Asio's epoll reactor
// (tcp_transport.h) and in memory on virtual time (sim_transport.h).
//
// Every object belongs to one loop. On one stream at most one read and one write are outstanding at
// a time; reading and writing may overlap. After any error a stream is of no further use but for
// close().
//
// Destroying an object closes it, but only when no operation is outstanding on it: whoever ends a
// stream calls close(), awaits what is pending (it ends with CANCELLED), then lets go.
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

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  ByteStream() = default;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  // At least one byte, or 0 at the orderly end of the peer's stream. `into` is not empty and stays
  // put until then. Errors: CANCELLED after close(), UNAVAILABLE when the connection broke.
  virtual Async<Result<size_t>> read_some(std::span<std::byte> into) = 0;
  // All of it, in one system call where the peer keeps up. The span, its elements and the bytes
  // stay put until then.
  virtual Async<Result<void>> write(std::span<const Bytes> parts) = 0;
  // As much as goes without waiting, possibly 0. Not while a write() is outstanding.
  virtual Result<size_t> try_write(std::span<const Bytes> parts) = 0;
  // Ends both directions and wakes what is pending with CANCELLED. May be called twice.
  virtual void close() = 0;
  // "HOST:PORT" of the other side, for logs.
  virtual std::string peer() const = 0;
};

class Listener {
 public:
  virtual ~Listener() = default;
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Waits out a shortage of descriptors by itself. Errors: CANCELLED after close().
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

  // Port 0 lets the system choose. With `reuse_port` several shards may listen on one port and the
  // kernel spreads connections. Errors: INVALID_ARGUMENT for a host that does not resolve,
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

// "HOST:PORT", "[v6]:PORT" or ":PORT" (all interfaces: host is empty). Errors: INVALID_ARGUMENT.
Result<Address> parse_address(std::string_view text);
std::string format_address(std::string_view host, uint16_t port);  // brackets a v6 host

}  // namespace cellar
