// Hostile input for the HTTP listener: in memory, on virtual time, byte by byte.
#include <cstring>
#include <deque>

#include "io/loop/event.h"
#include "net/http/routes.h"
#include "tests/net/http/http_listener_bed.h"

namespace cellar::http {
namespace {

using HttpAbuse = HttpListenerBed;

TEST_F(HttpAbuse, HealthAndReadinessFollowTheNode) {
  EXPECT_EQ(status(get("/healthz")), 200);
  std::string ready = get("/readyz");
  EXPECT_EQ(status(ready), 503);
  EXPECT_NE(ready.find("Retry-After: 1"), std::string::npos);
  EXPECT_NE(ready.find(R"("state":"starting")"), std::string::npos);
  readiness_.serve(1);
  EXPECT_EQ(status(get("/readyz")), 200);
  readiness_.beat(ShardId{0}, server::Conditions().set(server::Condition::read_only, true));
  EXPECT_EQ(status(get("/readyz")), 503);
  readiness_.beat(ShardId{0}, server::Conditions().set(server::Condition::disk_hung, true));
  ready = get("/readyz");
  EXPECT_EQ(status(ready), 503);
  EXPECT_NE(ready.find("the disk has not answered"), std::string::npos) << ready;
  EXPECT_EQ(status(get("/healthz")), 200) << "the process lives: a restart helps no disk";
  readiness_.beat(ShardId{0}, {});
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
  for (int i = 0; i < 14; ++i) {
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

// Beast bounds none of these, and throws for a field of 64 KiB.
TEST_F(HttpAbuse, TrailersAndHeadsOfChunksAreBounded) {
  const std::string post = "POST /healthz HTTP/1.1\r\nHost: localhost\r\n";
  const std::string chunked = post + "Transfer-Encoding: chunked\r\n\r\n";
  const std::string big(70'000, 'a');
  EXPECT_EQ(status(ask(chunked + "0\r\nA: " + big + "\r\n\r\n")), 400);
  EXPECT_EQ(status(ask(chunked + "0\r\n" + big + ": b\r\n\r\n")), 400);
  EXPECT_EQ(status(ask(chunked + "1;" + big)), 400);
  EXPECT_EQ(status(ask(chunked + "0\r\nA: " + big)), 400);
}

HttpParser::Step feed_all(HttpParser& parser, const std::vector<std::string>& pieces) {
  HttpParser::Step step = HttpParser::Step::need_more;
  for (const std::string& piece : pieces) {
    parser.feed(std::as_bytes(std::span(piece)));
    step = parser.next();
    if (step != HttpParser::Step::need_more) break;
  }
  return step;
}

// Each piece ends within a field, so that none holds the end of the header.
TEST(HttpParserBounds, AHeaderInPiecesHasTheBoundOfAWholeOne) {
  std::vector<std::string> pieces = {"GET / HTTP/1.1\r\nHost: localhost\r\nX"};
  for (int i = 0; i < 3'000; ++i) pieces.emplace_back(": v\r\nX");
  pieces.emplace_back(": v\r\n\r\n");
  HttpParser parser;
  ASSERT_EQ(feed_all(parser, pieces), HttpParser::Step::refused);
  EXPECT_EQ(parser.refusal().status, 431);
}

TEST(HttpParserBounds, ABodyOfManyChunksIsBoundedWithTheirHeads) {
  const std::string head =
      "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  HttpParser one;
  std::vector<std::string> small(1'000, "1\r\nx\r\n");
  small.insert(small.begin(), head);
  small.emplace_back("0\r\n\r\n");
  ASSERT_EQ(feed_all(one, small), HttpParser::Step::request);
  EXPECT_EQ(one.take().body.size(), 1'000u);
  HttpParser many;
  std::vector<std::string> extended(3'000, "1;" + std::string(4'000, 'a') + "\r\nx\r\n");
  extended.insert(extended.begin(), head);
  ASSERT_EQ(feed_all(many, extended), HttpParser::Step::refused);
  EXPECT_EQ(many.refusal().status, 413);
}

TEST_F(HttpAbuse, PipelinedRequestsAreAnsweredInOrder) {
  std::string two;
  for (int i = 0; i < 20; ++i) two += "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
  two += "GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  const std::string all = ask(two);
  EXPECT_EQ(answers(all), 21u);
  EXPECT_LT(all.find("200 OK"), all.find("404 Not Found"));
}

// Two servers could interpret each of these differently: one answer, then the connection is closed.
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
  EXPECT_LE(listener_->connections(), HttpListener::kMaxConnections);
}

// Half-sent requests, sent again continuously: every health check is answered
// within a second.
class HttpSlowRequests : public HttpListenerBed, public testing::WithParamInterface<int> {};

TEST_P(HttpSlowRequests, KeepNoHealthCheckOut) {
  constexpr const char* kHalf = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-A: ";
  for (int i = 0; i < GetParam(); ++i) send(connect(), kHalf);
  for (int round = 0; round < 20; ++round) {
    const int64_t began_us = now_us();
    EXPECT_EQ(status(get("/healthz")), 200) << "round " << round;
    EXPECT_LE(now_us() - began_us, kSecondUs);
    for (int i = 0; i < 16; ++i) send(connect(), kHalf);
    world_.block_on(*client_loop_, sleep_us(client_loop_->timers(), kSecondUs / 2));
  }
  EXPECT_LE(listener_->connections(), HttpListener::kMaxConnections);
}
INSTANTIATE_TEST_SUITE_P(HttpAbuse, HttpSlowRequests, testing::Values(64, 200, 400));

TEST_F(HttpAbuse, AnswersThatNobodyTakesKeepNoHealthCheckOut) {
  std::string many;
  for (int i = 0; i < 50; ++i) {
    many += "GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n";
  }
  for (size_t i = 0; i < HttpListener::kMaxConnections; ++i) send(connect(), many);
  world_.block_on(*client_loop_, sleep_us(client_loop_->timers(), kSecondUs));
  for (int round = 0; round < 5; ++round) {
    EXPECT_EQ(status(get("/healthz")), 200) << "round " << round;
  }
}

// A peer with a given address that has sent these bytes and sends no more.
class SilentPeer final : public ByteStream {
 public:
  SilentPeer(std::string peer, std::string bytes, std::string& received)
      : peer_(std::move(peer)), bytes_(std::move(bytes)), received_(received) {}

  Async<Result<size_t>> read_some(std::span<std::byte> into) override {
    if (!bytes_.empty() && !closed_.is_set()) {
      const size_t n = std::min(into.size(), bytes_.size());
      std::memcpy(into.data(), bytes_.data(), n);
      bytes_.erase(0, n);
      co_return n;
    }
    co_await closed_.wait();
    co_return fail(Errc::cancelled, "closed");
  }
  Async<Result<void>> write(std::span<const Bytes> parts) override {
    for (const Bytes part : parts) received_ += part;
    co_return Result<void>();
  }
  Result<size_t> try_write(std::span<const Bytes>) override { return size_t{0}; }
  void close() override {
    if (!closed_.is_set()) received_ += "(closed)";
    closed_.set();
  }
  std::string peer() const override { return peer_; }

 private:
  const std::string peer_;
  std::string bytes_;
  std::string& received_;
  Event closed_;
};

class HandListener final : public Listener {
 public:
  void arrive(std::unique_ptr<ByteStream> stream) {
    waiting_.push_back(std::move(stream));
    changed_.notify_all();
  }
  Async<Result<std::unique_ptr<ByteStream>>> accept() override {
    while (waiting_.empty() && !closed_) co_await changed_.wait();
    if (closed_) co_return fail(Errc::cancelled, "closed");
    auto stream = std::move(waiting_.front());
    waiting_.pop_front();
    co_return stream;
  }
  std::string address() const override { return "127.0.0.1:0"; }
  uint16_t port() const override { return 0; }
  void close() override {
    closed_ = true;
    changed_.notify_all();
  }

 private:
  std::deque<std::unique_ptr<ByteStream>> waiting_;
  ConditionVariable changed_;
  bool closed_ = false;
};

// The address with the most connections loses one: the one that has been slow for the longest time.
// An IPv6 address counts by its /64.
TEST_F(HttpAbuse, TheAddressWithTheMostMakesRoom) {
  constexpr const char* kHalf = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: ";
  auto by_hand = std::make_unique<HandListener>();
  HandListener& door = *by_hand;
  HttpListener listener(server_loop_->executor(), server_loop_->timers(), *node_,
                        std::move(by_hand));
  std::deque<std::string> received;
  const auto arrive = [&](std::string peer, std::string bytes) {
    door.arrive(
        std::make_unique<SilentPeer>(std::move(peer), std::move(bytes), received.emplace_back()));
    world_.block_on(*server_loop_, sleep_us(server_loop_->timers(), 1000));
  };
  listener.run();
  constexpr size_t kOthers = 20;
  for (size_t i = 0; i < kOthers; ++i) arrive(fmt::format("10.0.0.{}:80", i), kHalf);
  for (size_t i = kOthers; i < HttpListener::kMaxConnections; ++i) {
    arrive(fmt::format("[2001:db8::{:x}]:80", i), kHalf);
  }
  for (size_t i = 0; i < 10; ++i) {
    const std::string& victim = received[kOthers + i];
    EXPECT_EQ(victim, "") << i;
    arrive(fmt::format("192.0.2.{}:80", i), "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(victim, "(closed)") << i;
    EXPECT_TRUE(received.back().starts_with("HTTP/1.1 200 OK")) << received.back();
  }
  for (size_t i = 0; i < kOthers; ++i) EXPECT_EQ(received[i], "") << "another's, though older";
  world_.block_on(*server_loop_, listener.stop());
}

// Every slot is taken by a request in progress (a shard does not answer): the open routes are still
// answered, in slots of their own, and no request in progress is cut.
TEST_F(HttpAbuse, RequestsAtWorkKeepNoHealthCheckOut) {
  class Waiting final : public HttpService {
   public:
    Async<HttpResponse> answer(HttpRequest& request) override {
      HttpResponse response;
      response.status = request.open_routes_only ? 503 : 200;
      if (request.path == "/healthz") response.status = 200;
      if (request.path == "/work" && !request.open_routes_only) co_await go_on.wait();
      co_return response;
    }
    Event go_on;
  };
  constexpr uint16_t kOther = kPort + 1;
  Waiting service;
  std::unique_ptr<HttpListener> waiting;
  const auto open_other = [&]() -> Async<Result<void>> {
    CO_TRY(auto listener, co_await network_->listen("127.0.0.1", kOther, false));
    waiting = std::make_unique<HttpListener>(server_loop_->executor(), server_loop_->timers(),
                                             service, std::move(listener));
    waiting->run();
    co_return Result<void>();
  };
  ASSERT_TRUE(world_.block_on(*server_loop_, open_other()));
  const auto request = [](std::string_view path) {
    return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
  };
  std::vector<ByteStream*> at_work;
  for (size_t i = 0; i < HttpListener::kMaxConnections; ++i) {
    at_work.push_back(&connect(kOther));
    send(*at_work.back(), request("/work"));
  }
  world_.block_on(*client_loop_, sleep_us(client_loop_->timers(), kSecondUs / 10));
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(status(ask(request("/healthz"), kOther)), 200);
    EXPECT_EQ(status(ask(request("/work"), kOther)), 503);
    for (int i = 0; i < 100; ++i) send(connect(kOther), "GET /healthz HTTP/1.1\r\nX-A: ");
  }
  service.go_on.set();
  for (ByteStream* one : at_work) EXPECT_EQ(status(read_to_end(*one)), 200);
  for (auto& peer : peers_) peer->close();
  world_.block_on(*server_loop_, waiting->stop());
}

}  // namespace
}  // namespace cellar::http
