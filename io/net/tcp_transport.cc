#include "io/net/tcp_transport.h"

#include <netinet/tcp.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "io/base/log.h"
#include "io/net/send_parts.h"

namespace cellar {
namespace {

using Tcp = asio::ip::tcp;
using Socket = asio::basic_stream_socket<Tcp, ShardExecutor>;
using Acceptor = asio::basic_socket_acceptor<Tcp, ShardExecutor>;
using Resolver = asio::ip::basic_resolver<Tcp, ShardExecutor>;
using ErrorCode = boost::system::error_code;

// Returns errors next to the value instead of throwing.
constexpr asio::as_tuple_t<asio::use_awaitable_t<ShardExecutor>> kToken{};

std::unexpected<Error> cancelled(const std::string& what) {
  return fail(Errc::cancelled, "{} was closed here", what);
}

std::unexpected<Error> failed(const ErrorCode& ec, const std::string& what) {
  if (ec == asio::error::operation_aborted || ec == asio::error::bad_descriptor) {
    return cancelled(what);
  }
  return std::unexpected(os_error(ec.value(), what));
}

std::string to_text(const Tcp::endpoint& endpoint) {
  return format_address(endpoint.address().to_string(), endpoint.port());
}

void set_int_option(Socket& socket, int level, int name, int value) {
  // Best effort: the options are optional.
  (void)setsockopt(socket.native_handle(), level, name, &value, sizeof value);
}

void prepare(Socket& socket) {
  ErrorCode ignored;
  socket.non_blocking(true, ignored);
  set_int_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  // Urgent bytes are bytes of the stream: apart from it they would wake readers for nothing.
  set_int_option(socket, SOL_SOCKET, SO_OOBINLINE, 1);
  set_int_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_int_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set_int_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set_int_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 6);
}

class TcpStream final : public ByteStream {
 public:
  TcpStream(Socket socket, std::string peer) : socket_(std::move(socket)), peer_(std::move(peer)) {}
  ~TcpStream() override {
    if (detached_ >= 0) ::close(detached_);
  }

  Async<Result<size_t>> read_some(std::span<std::byte> into) override {
    if (!socket_.is_open()) co_return cancelled(peer_);
    const auto buffer = asio::buffer(into.data(), into.size());
    const auto [ec, n] = co_await socket_.async_read_some(buffer, kToken);
    if (!ec) co_return n;
    if (ec == asio::error::eof) co_return size_t{0};
    co_return failed(ec, peer_);
  }

  bool start_receive(std::span<std::byte> into, ReceiveHandler& handler) override {
    if (!socket_.is_open()) return false;
    socket_.async_read_some(asio::buffer(into.data(), into.size()),
                            [this, &handler](const ErrorCode& ec, size_t n) {
                              if (!ec) return handler.on_received(n);
                              if (ec == asio::error::eof) return handler.on_received(size_t{0});
                              handler.on_received(failed(ec, peer_));
                            });
    return true;
  }

  Async<Result<void>> write(std::span<const Bytes> parts) override {
    size_t skip = 0;  // bytes of parts.front() already written
    for (;;) {
      if (!socket_.is_open()) co_return cancelled(peer_);
      CO_TRY(const bool all, send_parts(socket_.native_handle(), parts, skip, peer_));
      if (all) co_return Result<void>();
      const auto [ec] = co_await socket_.async_wait(Socket::wait_write, kToken);
      if (ec) co_return failed(ec, peer_);
    }
  }

  Result<size_t> try_write(std::span<const Bytes> parts) override {
    if (!socket_.is_open()) return cancelled(peer_);
    return send_what_fits(socket_.native_handle(), parts, peer_);
  }

  void close() override {
    ErrorCode ignored;
    socket_.shutdown(Socket::shutdown_both, ignored);
    socket_.close(ignored);
    if (detached_ >= 0) ::close(std::exchange(detached_, -1));
  }
  std::string peer() const override { return peer_; }

  bool detach() override {
    ErrorCode ec;
    protocol_ = socket_.local_endpoint(ec).protocol();
    if (ec) return false;
    detached_ = socket_.release(ec);
    return !ec;
  }

  // The socket of the old loop is empty, so nothing of that loop is used here.
  Result<void> attach(ShardExecutor executor) override {
    if (detached_ < 0) return cancelled(peer_);
    Socket socket(executor);
    ErrorCode ec;
    socket.assign(protocol_, detached_, ec);
    if (!ec) {
      detached_ = -1;
      socket.non_blocking(true, ec);
      socket_ = std::move(socket);
    }
    if (!ec) return {};
    close();
    return failed(ec, peer_);
  }

 private:
  Socket socket_;
  Tcp protocol_ = Tcp::v4();  // of detached_
  int detached_ = -1;         // the descriptor between detach() and attach()
  std::string peer_;
};

// `streams`: null for a stream of the reactor.
std::unique_ptr<ByteStream> make_stream(Socket socket, DescriptorStreams* streams) {
  ErrorCode ec;
  const Tcp::endpoint remote = socket.remote_endpoint(ec);
  std::string peer = ec ? "disconnected peer" : to_text(remote);
  prepare(socket);
  if (streams != nullptr) {
    const int fd = socket.release(ec);
    if (!ec) return streams->make(fd, std::move(peer));
  }
  return std::make_unique<TcpStream>(std::move(socket), std::move(peer));
}

class TcpListener final : public Listener {
 public:
  TcpListener(Acceptor acceptor, Timers& timers, const Tcp::endpoint& bound,
              std::shared_ptr<DescriptorStreams> streams)
      : acceptor_(std::move(acceptor)),
        timers_(timers),
        bound_(bound),
        streams_(std::move(streams)) {}

  Async<Result<std::unique_ptr<ByteStream>>> accept() override {
    for (;;) {
      if (!acceptor_.is_open()) co_return cancelled(address());
      auto [ec, socket] = co_await acceptor_.async_accept(kToken);
      if (!ec) co_return make_stream(std::move(socket), streams_.get());
      if (ec == asio::error::operation_aborted) co_return cancelled(address());
      if (ec == asio::error::connection_aborted) continue;  // broken before accept
      // Descriptors or memory are probably exhausted: an immediate retry would only burn the core.
      log_warn("runtime", "accept pauses listener={} pause_us={} error={}", address(),
               TcpNetwork::kAcceptPauseUs, ec.message());
      co_await sleep_us(timers_, TcpNetwork::kAcceptPauseUs);
    }
  }
  std::string address() const override { return to_text(bound_); }
  uint16_t port() const override { return bound_.port(); }
  void close() override {
    ErrorCode ignored;
    acceptor_.close(ignored);
  }

 private:
  Acceptor acceptor_;
  Timers& timers_;
  Tcp::endpoint bound_;
  const std::shared_ptr<DescriptorStreams> streams_;
};

// Numeric addresses are used as they are; names go to the system's resolver on a thread of Asio. A
// resolver without localhost (a container without /etc/hosts) is corrected, see RFC 6761, 6.3.
Async<Result<std::vector<Tcp::endpoint>>> resolve(Resolver& resolver, std::string host,
                                                  uint16_t port) {
  ErrorCode not_numeric;
  const auto address = asio::ip::make_address(host, not_numeric);
  std::vector<Tcp::endpoint> endpoints;
  if (!not_numeric) {
    endpoints.emplace_back(address, port);
    co_return endpoints;
  }
  const std::string service = std::to_string(port);
  const auto flags = Resolver::numeric_service;
  const auto [ec, found] = co_await resolver.async_resolve(host, service, flags, kToken);
  if (ec && host == "localhost") {
    endpoints.emplace_back(asio::ip::address_v4::loopback(), port);
    co_return endpoints;
  }
  if (ec) co_return fail(Errc::unavailable, "host '{}' does not resolve: {}", host, ec.message());
  for (const auto& entry : found) endpoints.push_back(entry.endpoint());
  co_return endpoints;
}

Result<Acceptor> open_acceptor(ShardExecutor executor, const Tcp::endpoint& at, bool reuse_port) {
  using ReusePort = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;
  Acceptor acceptor(executor);
  ErrorCode ec;
  acceptor.open(at.protocol(), ec);
  if (!ec) acceptor.set_option(Acceptor::reuse_address(true), ec);
  if (!ec && reuse_port) acceptor.set_option(ReusePort(true), ec);
  if (!ec) acceptor.bind(at, ec);
  if (!ec) acceptor.listen(TcpNetwork::kBacklog, ec);
  if (ec) return failed(ec, fmt::format("listening on {}", to_text(at)));
  return acceptor;
}

// Cancels a connect when its time is up.
struct ConnectDeadline {
  ConnectDeadline(Timers& timers, Resolver& r, Socket& s, int64_t timeout_us)
      : resolver(r), socket(s), timer(timers, &ConnectDeadline::expire, this) {
    timer.arm_after_us(timeout_us);
  }
  static void expire(void* self) {
    auto& deadline = *static_cast<ConnectDeadline*>(self);
    deadline.passed = true;
    deadline.resolver.cancel();
    ErrorCode ignored;
    deadline.socket.close(ignored);
  }

  Resolver& resolver;
  Socket& socket;
  bool passed = false;
  Timer timer;
};

}  // namespace

Async<Result<std::unique_ptr<Listener>>> TcpNetwork::listen(std::string host, uint16_t port,
                                                            bool reuse_port) {
  Resolver resolver(executor_);
  if (host.empty()) host = "0.0.0.0";
  const auto endpoints = co_await resolve(resolver, host, port);
  if (!endpoints) co_return fail(Errc::invalid_argument, "{}", endpoints.error().message);
  CO_TRY(Acceptor acceptor, open_acceptor(executor_, endpoints->front(), reuse_port));
  ErrorCode ec;
  const Tcp::endpoint bound = acceptor.local_endpoint(ec);
  if (ec) co_return failed(ec, host);
  co_return std::make_unique<TcpListener>(std::move(acceptor), timers_, bound, streams_);
}

Async<Result<std::unique_ptr<ByteStream>>> TcpNetwork::connect(std::string host, uint16_t port,
                                                               int64_t timeout_us) {
  const std::string what = fmt::format("connecting to {}", format_address(host, port));
  Resolver resolver(executor_);
  Socket socket(executor_);
  const ConnectDeadline deadline(timers_, resolver, socket, timeout_us);
  const auto endpoints = co_await resolve(resolver, host, port);
  ErrorCode last = asio::error::host_not_found;
  if (endpoints) {
    for (const Tcp::endpoint& endpoint : *endpoints) {
      if (deadline.passed) break;
      ErrorCode ignored;
      socket.close(ignored);
      const auto [ec] = co_await socket.async_connect(endpoint, kToken);
      last = ec;
      if (!ec) break;
    }
  }
  if (deadline.passed) {
    co_return fail(Errc::deadline_exceeded, "{}: no answer within {} us", what, timeout_us);
  }
  if (!endpoints) co_return std::unexpected(endpoints.error());
  if (last) co_return failed(last, what);
  co_return make_stream(std::move(socket), streams_.get());
}

}  // namespace cellar
