// What the HTTP listener must bear: in memory, on virtual time, byte by byte.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "io/base/log.h"
#include "io/runtime/sim_loop.h"
#include "io/runtime/sim_transport.h"
#include "net/http/http_listener.h"
#include "net/http/http_node.h"
#include "net/http/routes.h"

namespace cellar::http {
namespace {

constexpr uint16_t kPort = 7421;
constexpr int64_t kSecondUs = 1'000'000;

class Bed : public testing::Test {
 protected:
  Bed() {
    config_.options.http.hosts = "node7.example  Cellar.Internal";
    server_loop_ = &world_.add_loop();
    client_loop_ = &world_.add_loop();
    network_ = std::make_unique<SimNetwork>(fabric_, *server_loop_);
    node_ = std::make_unique<HttpNode>(server_loop_->executor(), server_loop_->timers(), config_,
                                       readiness_);
    const Result<void> opened = world_.block_on(*server_loop_, open());
    CHECK(opened, "no listener: {}", opened.error().message);
  }
  ~Bed() override {
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

  ByteStream& connect() {
    auto network = std::make_unique<SimNetwork>(fabric_, *client_loop_);
    auto connected =
        world_.block_on(*client_loop_, network->connect("127.0.0.1", kPort, kSecondUs));
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
  // All that comes until the node closes the connection.
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
  // One connection, these bytes, and everything that is answered. What does not say otherwise asks
  // for the end of the connection.
  std::string ask(const std::string& bytes) {
    ByteStream& peer = connect();
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

using HttpAbuse = Bed;

TEST_F(HttpAbuse, HealthAndReadinessFollowTheNode) {
  EXPECT_EQ(status(get("/healthz")), 200);
  std::string ready = get("/readyz");
  EXPECT_EQ(status(ready), 503);
  EXPECT_NE(ready.find("Retry-After: 1"), std::string::npos);
  EXPECT_NE(ready.find(R"("state":"starting")"), std::string::npos);
  readiness_.serve(1);
  EXPECT_EQ(status(get("/readyz")), 200);
  readiness_.beat(ShardId{0}, false);
  EXPECT_EQ(status(get("/readyz")), 503);
  readiness_.beat(ShardId{0}, true);
  readiness_.drain(true);
  EXPECT_EQ(status(get("/readyz")), 404);
  EXPECT_EQ(status(get("/healthz")), 200);
  readiness_.drain(false);
  clock_.advance_us(server::Readiness::kBrokenUs + 1);
  EXPECT_EQ(status(get("/readyz")), 503);
  EXPECT_EQ(status(get("/healthz")), 503);
}

TEST_F(HttpAbuse, SlowlorisIsCutWhateverItTrickles) {
  ByteStream& peer = connect();
  const int64_t began_us = now_us();
  send(peer, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n");
  for (int i = 0; i < 30; ++i) {
    world_.block_on(*client_loop_, sleep_us(client_loop_->timers(), kSecondUs / 2));
    send(peer, "X-A: b\r\n");
  }
  EXPECT_EQ(read_to_end(peer), "");
  EXPECT_LE(now_us() - began_us, HttpConnection::kHeaderUs + 6 * kSecondUs);
}

TEST_F(HttpAbuse, ASlowBodyAndSilenceAreCut) {
  ByteStream& body = connect();
  send(body, "POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nab");
  int64_t began_us = now_us();
  EXPECT_EQ(read_to_end(body), "");
  EXPECT_NEAR(static_cast<double>(now_us() - began_us), HttpConnection::kBodyUs, kSecondUs);
  ByteStream& silent = connect();
  began_us = now_us();
  EXPECT_EQ(read_to_end(silent), "");
  EXPECT_NEAR(static_cast<double>(now_us() - began_us), HttpConnection::kIdleUs, kSecondUs);
}

TEST_F(HttpAbuse, GiantHeadersAndBodiesAreRefusedWithTheBound) {
  const std::string big(20'000, 'a');
  EXPECT_EQ(status(get("/healthz", "X-A: " + big + "\r\n")), 431);
  EXPECT_EQ(status(get("/" + big)), 431);
  std::string many;
  for (int i = 0; i < 2000; ++i) many += fmt::format("X-{}: b\r\n", i);
  EXPECT_EQ(status(get("/healthz", many)), 431);
  EXPECT_EQ(status(ask(fmt::format("POST /healthz HTTP/1.1\r\nHost: localhost\r\n"
                                   "Content-Length: {}\r\n\r\n",
                                   HttpParser::kMaxBodyBytes + 1))),
            413);
  EXPECT_EQ(status(ask("POST /healthz HTTP/1.1\r\nHost: localhost\r\n"
                       "Content-Length: 99999999999999999999999\r\n\r\n")),
            400);
}

TEST_F(HttpAbuse, PipelinedRequestsAreAnsweredInOrder) {
  std::string two;
  for (int i = 0; i < 20; ++i) two += "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
  two += "GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  const std::string all = ask(two);
  EXPECT_EQ(answers(all), 21u);
  EXPECT_LT(all.find("200 OK"), all.find("404 Not Found"));
}

// Each of these two servers could read differently: one answer, and the connection is over.
TEST_F(HttpAbuse, SmugglingIsRefused) {
  static constexpr const char* kBodies[] = {
      "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
      "Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
      "Content-Length: 4, 5\r\n\r\nabcde",
      "Content-Length: +4\r\n\r\nabcd",
      "Content-Length: -1\r\n\r\n",
      "Content-Length: 0x4\r\n\r\nabcd",
      "Content-Length : 4\r\n\r\nabcd",
      "Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n",
      "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffffffff\r\n",
      "Transfer-Encoding: chunked\r\n\r\n3\r\nabcXX0\r\n\r\n",
  };
  for (const char* body : kBodies) {
    const std::string all =
        ask(fmt::format("POST /healthz HTTP/1.1\r\nHost: localhost\r\n{}"
                        "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
                        body));
    EXPECT_EQ(answers(all), 1u) << body;
    EXPECT_TRUE(status(all) == 400 || status(all) == 413) << body << "\n" << all;
  }
}

TEST_F(HttpAbuse, TargetsThatAreNoPathAreRefused) {
  for (const char* target : {"http://127.0.0.1:7421/healthz", "127.0.0.1:7421", "*", "healthz",
                             "/healthz#fragment", "/a\\b", "/\x7f"}) {
    EXPECT_EQ(status(get(target)), 400) << target;
  }
  EXPECT_EQ(status(ask("CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: localhost\r\n\r\n")), 400);
  EXPECT_EQ(status(ask("GET /a\r\nInjected: yes HTTP/1.1\r\nHost: localhost\r\n\r\n")), 400);
  EXPECT_EQ(status(get("/healthz%0d%0aSet-Cookie:%20a=b")), 404);
  EXPECT_EQ(status(ask(std::string("GET /a") + '\0' + "b HTTP/1.1\r\nHost: localhost\r\n\r\n")),
            400);
}

TEST_F(HttpAbuse, NoEncodingOfAPathLeadsToAFile) {
  for (const char* up :
       {"..", "%2e%2e", ".%2e", "%252e%252e", "..;", "%c0%ae%c0%ae", "....", "."}) {
    for (const char* slash : {"/", "%2f", "%5c", "//", "/./", "%252f"}) {
      std::string path = "/";
      for (int i = 0; i < 4; ++i) path += fmt::format("{}{}", up, slash);
      const std::string answer = get(path + "etc" + slash + "passwd");
      EXPECT_EQ(status(answer), 404) << path;
      EXPECT_EQ(answer.find("root:"), std::string::npos);
    }
  }
}

TEST_F(HttpAbuse, AForeignHostIsRefused) {
  const auto with_host = [this](std::string_view host) {
    return status(
        ask(fmt::format("GET /healthz HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", host)));
  };
  for (const char* host : {"localhost", "localhost:7421", "127.0.0.1", "10.1.2.3:80", "[::1]:7421",
                           "node7.example:7421", "CELLAR.internal"}) {
    EXPECT_EQ(with_host(host), 200) << host;
  }
  for (const char* host : {"evil.example", "127.0.0.1.evil.example", "localhost.evil.example",
                           "node7.example.evil", "1.2.3", "2130706433", "[::1].evil"}) {
    EXPECT_EQ(with_host(host), 421) << host;
  }
  EXPECT_EQ(status(ask("GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n")), 400);
  EXPECT_EQ(status(ask("GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: a\r\n\r\n")), 400);
  EXPECT_EQ(status(ask("GET /healthz HTTP/1.0\r\n\r\n")), 200) << "old checkers name none";
  EXPECT_EQ(status(ask("GET /nowhere HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")),
            421)
      << "what is there is not told either";
}

TEST_F(HttpAbuse, AForeignOriginIsRefused) {
  EXPECT_EQ(status(get("/healthz", "Origin: http://127.0.0.1:7421\r\n")), 200);
  for (const char* origin : {"http://evil.example", "null", "http://127.0.0.1:7422",
                             "http://127.0.0.1:7421.evil.example", "ftp://127.0.0.1:7421"}) {
    const std::string answer = get("/healthz", fmt::format("Origin: {}\r\n", origin));
    EXPECT_EQ(status(answer), 403) << origin;
    EXPECT_EQ(answer.find("Access-Control"), std::string::npos);
  }
}

TEST_F(HttpAbuse, MethodsAreThoseOfTheRoute) {
  const auto with = [this](std::string_view method) {
    return ask(fmt::format("{} /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                           method));
  };
  const std::string head = with("HEAD");
  EXPECT_EQ(status(head), 200);
  EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;
  EXPECT_EQ(head.find("Content-Length: 0"), std::string::npos) << "the length of what GET gives";
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"}) {
    const std::string answer = with(method);
    EXPECT_EQ(status(answer), 405) << method;
    EXPECT_NE(answer.find("Allow: GET, HEAD\r\n"), std::string::npos);
  }
  EXPECT_EQ(status(with("FROBNICATE")), 501);
  EXPECT_EQ(status(ask("GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nab")),
            400);
  EXPECT_EQ(status(get("/healthz", "Upgrade: websocket\r\nConnection: upgrade\r\n")), 400);
  EXPECT_EQ(status(get("/healthz", "Expect: 100-continue\r\n")), 417);
}

TEST_F(HttpAbuse, WhatIsNoHttpIsRefused) {
  EXPECT_EQ(status(ask(std::string("\x16\x03\x01\x02") + '\0' + "\x01garbage\r\n\r\n")), 400);
  EXPECT_EQ(status(ask("CELLAR\r\n\r\n")), 400);
  EXPECT_EQ(status(ask("GET /healthz HTTP/9.9\r\nHost: localhost\r\n\r\n")), 400);
  EXPECT_EQ(status(ask("GET  /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")), 400);
  EXPECT_EQ(status(ask("GET /healthz HTTP/1.1\r\nHost: localhost\r\n folded: yes\r\n"
                       "Connection: close\r\n\r\n")),
            421);
}

TEST_F(HttpAbuse, IdleConnectionsKeepNobodyOut) {
  for (int i = 0; i < 100; ++i) connect();
  EXPECT_EQ(status(get("/healthz")), 200);
  EXPECT_LE(listener_->connections(), HttpListener::kMaxConnections + 1);
}

}  // namespace
}  // namespace cellar::http
