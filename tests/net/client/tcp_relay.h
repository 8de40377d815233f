// TcpRelay: a TCP proxy on a thread of its own: each connection to it is one to the node, and bytes
// pass unchanged.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <thread>

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include "io/base/check.h"
#include "io/net/transport.h"

namespace cellar::client {

class TcpRelay {
 public:
  // `first`: sent to the node before the first byte of each connection.
  TcpRelay(const std::string& node, std::string first)
      : node_(*parse_address(node)),
        first_(std::move(first)),
        acceptor_(context_, {boost::asio::ip::make_address("127.0.0.1"), 0}) {
    accept();
    thread_ = std::thread([this] { context_.run(); });
  }
  ~TcpRelay() {
    context_.stop();
    thread_.join();
  }
  std::string address() const {
    return format_address("127.0.0.1", acceptor_.local_endpoint().port());
  }
  // Of the PROXY protocol, version 2: 203.0.113.7:51234 to 10.0.0.1:7420.
  static std::string proxy_header() {
    using namespace std::string_literals;
    return "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xcb\x00\x71\x07\x0a\x00\x00\x01\xc8\x22\x1c\xfc"s;
  }

 private:
  using Socket = boost::asio::ip::tcp::socket;
  struct Pair {
    explicit Pair(boost::asio::io_context& context) : client(context), node(context) {}
    Socket client, node;
    std::array<std::array<char, 16 * 1024>, 2> buffers;
  };

  void accept() {
    auto pair = std::make_shared<Pair>(context_);
    acceptor_.async_accept(pair->client, [this, pair](const boost::system::error_code& ec) {
      if (ec) return;
      boost::system::error_code failed;
      pair->node.connect({boost::asio::ip::make_address(node_.host), node_.port}, failed);
      if (!failed) boost::asio::write(pair->node, boost::asio::buffer(first_), failed);
      if (!failed) {
        pump(pair, pair->client, pair->node, 0);
        pump(pair, pair->node, pair->client, 1);
      }
      accept();
    });
  }
  static void pump(const std::shared_ptr<Pair>& pair, Socket& from, Socket& to, size_t way) {
    from.async_read_some(boost::asio::buffer(pair->buffers[way]),
                         [pair, &from, &to, way](const boost::system::error_code& ec, size_t n) {
                           boost::system::error_code failed = ec;
                           if (!failed) {
                             boost::asio::write(
                                 to, boost::asio::buffer(pair->buffers[way].data(), n), failed);
                           }
                           if (!failed) return pump(pair, from, to, way);
                           boost::system::error_code ignored;
                           to.shutdown(Socket::shutdown_send, ignored);
                         });
  }

  const Address node_;
  const std::string first_;
  boost::asio::io_context context_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::thread thread_;
};

}  // namespace cellar::client
