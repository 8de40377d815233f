// cellar-bench-echo: a server on Asio that answers frames without any work, for the price of the
// socket alone. One thread.
#include <cstdio>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include "bench/echo/echo_frame.h"

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using cellar::bench::echo_header;
using cellar::bench::EchoHeader;
using cellar::bench::kMaxEchoBytes;

// One connection. It owns itself through its pending operation.
class Session : public std::enable_shared_from_this<Session> {
 public:
  static constexpr size_t kInitialBytes = 64 * 1024;

  explicit Session(tcp::socket socket) : socket_(std::move(socket)), in_(kInitialBytes, '\0') {
    boost::system::error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
  }

  void receive() {
    const auto room = asio::buffer(in_.data() + used_, in_.size() - used_);
    socket_.async_read_some(room, [self = shared_from_this()](auto ec, size_t n) {
      if (ec) return;
      self->used_ += n;
      if (self->answer()) self->send();
    });
  }

 private:
  // Answers the complete frames. False: the peer does not speak this protocol.
  bool answer() {
    size_t at = 0;
    while (used_ - at >= sizeof(EchoHeader)) {
      const EchoHeader request = echo_header(in_.data() + at);
      if (request.bytes < sizeof request || request.bytes > kMaxEchoBytes ||
          request.answer_bytes < sizeof request || request.answer_bytes > kMaxEchoBytes)
        return false;
      if (used_ - at < request.bytes) {
        if (in_.size() < request.bytes) in_.resize(request.bytes);
        break;
      }
      const EchoHeader reply{request.answer_bytes, 0, request.id};
      const size_t to = out_.size();
      out_.resize(to + request.answer_bytes, 'x');
      std::memcpy(out_.data() + to, &reply, sizeof reply);
      at += request.bytes;
    }
    used_ -= at;
    std::memmove(in_.data(), in_.data() + at, used_);
    return true;
  }
  // In one system call if the peer keeps up.
  void send() {
    boost::system::error_code ec;
    socket_.non_blocking(true, ec);
    const size_t n = out_.empty() ? 0 : socket_.write_some(asio::buffer(out_), ec);
    if (ec && ec != asio::error::would_block) return;
    if (n == out_.size()) {
      out_.clear();
      return receive();
    }
    out_.erase(0, ec ? 0 : n);
    asio::async_write(socket_, asio::buffer(out_),
                      [self = shared_from_this()](auto failed, size_t) {
                        self->out_.clear();
                        if (!failed) self->receive();
                      });
  }

  tcp::socket socket_;
  std::string in_;
  size_t used_ = 0;
  std::string out_;
};

void accept(tcp::acceptor& acceptor) {
  acceptor.async_accept([&acceptor](auto ec, tcp::socket socket) {
    if (!ec) std::make_shared<Session>(std::move(socket))->receive();
    accept(acceptor);
  });
}

}  // namespace

int main(int argc, char** argv) {
  uint16_t port = 0;
  CLI::App app("Answers the frames of cellar-bench --server echo without any work.",
               "cellar-bench-echo");
  app.add_option("--port", port, "Port on 127.0.0.1; 0: the system chooses")->capture_default_str();
  app.footer("Prints \"ready on HOST:PORT\" and serves until it is killed.");
  CLI11_PARSE(app, argc, argv);
  asio::io_context context(1);
  boost::system::error_code ec;
  tcp::acceptor acceptor(context);
  const tcp::endpoint at(asio::ip::address_v4::loopback(), port);
  acceptor.open(at.protocol(), ec);
  if (!ec) acceptor.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec) acceptor.bind(at, ec);
  if (!ec) acceptor.listen(1024, ec);
  if (ec) {
    std::fprintf(stderr, "cellar-bench-echo: port %u: %s\n", port, ec.message().c_str());
    return 1;
  }
  std::printf("ready on 127.0.0.1:%u\n", acceptor.local_endpoint().port());
  std::fflush(stdout);
  accept(acceptor);
  context.run();
}
