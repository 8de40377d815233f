// An HTTP listener in memory, on virtual time, with no node behind it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "io/base/log.h"
#include "io/sim/manual_clock.h"
#include "io/sim/sim_loop.h"
#include "io/sim/sim_transport.h"
#include "net/http/http_listener.h"
#include "net/http/http_node.h"
#include "net/http/routes.h"
#include "tests/support/durations.h"

namespace cellar::http {

inline constexpr uint16_t kPort = 7421;

class HttpListenerBed : public testing::Test {
 protected:
  HttpListenerBed() {
    config_.options.http.hosts = "node7.example  Cellar.Internal";
    server_loop_ = &world_.add_loop();
    client_loop_ = &world_.add_loop();
    network_ = std::make_unique<SimNetwork>(fabric_, *server_loop_);
    node_ = std::make_unique<HttpNode>(server_loop_->executor(), server_loop_->timers(), config_,
                                       readiness_);
    const Result<void> opened = world_.block_on(*server_loop_, open());
    CHECK(opened, "no listener: {}", opened.error().message);
  }
  ~HttpListenerBed() override {
    for (auto& peer : peers_) peer->close();
    world_.block_on(*server_loop_, listener_->stop());
  }
  Async<Result<void>> open() {
    CO_TRY(auto listener, co_await network_->listen("127.0.0.1", kPort, false));
    listener_ = std::make_unique<HttpListener>(server_loop_->executor(), server_loop_->timers(),
                                               *node_, std::move(listener));
    listener_->run();
    co_return Result<void>();
  }

  ByteStream& connect(uint16_t port = kPort) {
    auto network = std::make_unique<SimNetwork>(fabric_, *client_loop_);
    auto connected = world_.block_on(*client_loop_, network->connect("127.0.0.1", port, kSecondUs));
    CHECK(connected, "no connection");
    networks_.push_back(std::move(network));
    peers_.push_back(std::move(*connected));
    return *peers_.back();
  }
  void send(ByteStream& peer, std::string bytes) {
    (void)world_.block_on(*client_loop_, write_all(peer, std::move(bytes)));
  }
  static Async<Result<void>> write_all(ByteStream& peer, std::string bytes) {
    const Bytes part = bytes;
    co_return co_await peer.write({&part, 1});
  }
  // Everything that arrives until the node closes the connection.
  std::string read_to_end(ByteStream& peer) {
    return world_.block_on(*client_loop_, read_all(peer));
  }
  static Async<std::string> read_all(ByteStream& peer) {
    std::string all;
    std::array<std::byte, 4096> buffer;
    while (true) {
      const auto n = co_await peer.read_some(buffer);
      if (!n || *n == 0) co_return all;
      all.append(reinterpret_cast<const char*>(buffer.data()), *n);
    }
  }
  // Sends these bytes on one connection and returns all answers. get() asks for the end of the
  // connection; raw bytes must do so themselves.
  std::string ask(const std::string& bytes, uint16_t port = kPort) {
    ByteStream& peer = connect(port);
    send(peer, bytes);
    return read_to_end(peer);
  }
  std::string get(std::string_view target, std::string_view headers = "") {
    return ask(fmt::format("GET {} HTTP/1.1\r\nHost: 127.0.0.1:7421\r\n{}Connection: close\r\n\r\n",
                           target, headers));
  }
  static int status(const std::string& answer) {
    return answer.starts_with("HTTP/1.1 ") ? std::stoi(answer.substr(9, 3)) : 0;
  }
  static size_t answers(const std::string& all) {
    size_t count = 0;
    for (size_t at = all.find("HTTP/1.1 "); at != std::string::npos;
         at = all.find("HTTP/1.1 ", at + 1)) {
      ++count;
    }
    return count;
  }
  int64_t now_us() { return world_.clock().boot_us(); }

  server::Config config_;
  SimWorld world_{1};
  SimFabric fabric_{world_};
  ManualClock clock_;
  server::Readiness readiness_{clock_};
  SimLoop* server_loop_ = nullptr;
  SimLoop* client_loop_ = nullptr;
  std::unique_ptr<SimNetwork> network_;
  std::unique_ptr<HttpNode> node_;
  std::unique_ptr<HttpListener> listener_;
  std::vector<std::unique_ptr<SimNetwork>> networks_;
  std::vector<std::unique_ptr<ByteStream>> peers_;
};

}  // namespace cellar::http
