// Both implementations of the transport under one suite, then properties of only one.
#include "io/net/transport.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>

#include "io/base/random.h"
#include "io/loop/event.h"
#include "io/loop/shard_loop.h"
#include "io/net/tcp_transport.h"
#include "io/net/uring/uring_streams.h"
#include "io/sim/sim_transport.h"

namespace cellar {
namespace {

constexpr int64_t kTimeoutUs = 2'000'000;

struct TcpBody {
  static bool available() { return true; }
  static constexpr const char* kHost = "127.0.0.1";
  template <class T>
  T run(Async<T> work) {
    return block_on(loop, std::move(work));
  }
  void run(Async<void> work) { block_on(loop, std::move(work)); }
  ShardLoop loop;
  TcpNetwork network{loop.executor(), loop.timers()};
};

// Streams of the ring.
struct UringBody : TcpBody {
  static bool available() { return probe_ring() == 0; }
  UringBody() : ring(available() ? Ring::of(loop).value() : nullptr) {}
  std::shared_ptr<Ring> ring;
  TcpNetwork network{loop.executor(), loop.timers(), std::make_shared<UringStreams>(ring)};
};

struct SimBody {
  static bool available() { return true; }
  static constexpr const char* kHost = "node";
  template <class T>
  T run(Async<T> work) {
    return world.block_on(loop, std::move(work));
  }
  void run(Async<void> work) { world.block_on(loop, std::move(work)); }
  SimWorld world{3};
  SimLoop& loop = world.add_loop();
  SimFabric fabric{world};
  SimNetwork network{fabric, loop};
};

using StreamPtr = std::unique_ptr<ByteStream>;
struct Pair {
  StreamPtr client, server;
};

Async<Pair> connect_pair(Network& network, Listener& listener, std::string host) {
  auto client = co_await network.connect(host, listener.port(), kTimeoutUs);
  auto server = co_await listener.accept();
  Pair pair{std::move(client).value(), std::move(server).value()};
  co_return pair;
}

Async<Result<void>> write_text(ByteStream& stream, std::string text) {
  const std::array<Bytes, 1> parts = {text};
  co_return co_await stream.write(parts);
}

// Until the end of the stream.
Async<Result<std::string>> read_all(ByteStream& stream) {
  std::string all;
  std::array<std::byte, 5'000> buffer;
  for (;;) {
    CO_TRY(const size_t n, co_await stream.read_some(buffer));
    if (n == 0) co_return all;
    all += as_bytes_view(std::span(buffer).first(n));
  }
}

template <class Body>
class TransportTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!Body::available()) GTEST_SKIP() << "io_uring is not available";
    auto listening = body_.run(body_.network.listen(Body::kHost, 0, false));
    ASSERT_TRUE(listening) << listening.error().to_string();
    listener_ = std::move(*listening);
  }
  Pair pair() { return body_.run(connect_pair(body_.network, *listener_, Body::kHost)); }

  Body body_;
  std::unique_ptr<Listener> listener_;
};

using Bodies = testing::Types<TcpBody, UringBody, SimBody>;
TYPED_TEST_SUITE(TransportTest, Bodies);

TYPED_TEST(TransportTest, ListenerNamesTheAddressActuallyBound) {
  EXPECT_NE(this->listener_->port(), 0);
  EXPECT_EQ(this->listener_->address(), format_address(TypeParam::kHost, this->listener_->port()));
}

TYPED_TEST(TransportTest, WhatIsWrittenIsReadAndCloseIsTheEnd) {
  Pair p = this->pair();
  EXPECT_TRUE(this->body_.run(write_text(*p.client, "hello ")));
  EXPECT_TRUE(this->body_.run(write_text(*p.client, "there")));
  p.client->close();
  p.client->close();
  EXPECT_EQ(this->body_.run(read_all(*p.server)).value(), "hello there");
}

TYPED_TEST(TransportTest, ManyPartsIncludingEmptyOnesArriveInOrder) {
  Pair p = this->pair();
  std::string expected;
  std::vector<std::string> texts;
  for (int i = 0; i < 300; ++i) texts.push_back(i % 7 == 0 ? "" : fmt::format("[{}]", i));
  std::vector<Bytes> parts(texts.begin(), texts.end());
  for (const auto& text : texts) expected += text;
  EXPECT_TRUE(this->body_.run(p.client->write(parts)));
  p.client->close();
  EXPECT_EQ(this->body_.run(read_all(*p.server)).value(), expected);
}

TYPED_TEST(TransportTest, LargeWriteWaitsForASlowReaderAndLosesNothing) {
  Pair p = this->pair();
  Random random(8);
  std::string data(20 << 20, '\0');
  for (char& c : data) c = static_cast<char>(random.next());
  Event written;
  spawn(this->body_.loop.executor(), [&]() -> Async<void> {
    const auto result = co_await write_text(*p.client, data);
    EXPECT_TRUE(result);
    p.client->close();
    written.set();
  });
  EXPECT_TRUE(this->body_.run(read_all(*p.server)).value() == data);
  this->body_.run(written.wait());
}

TYPED_TEST(TransportTest, TryWriteTakesWhatFitsAndNeverWaits) {
  Pair p = this->pair();
  const std::string block(64 * 1024, 'x');
  const std::array<Bytes, 2> parts = {block, block};
  size_t total = 0;
  size_t n = 0;
  int calls = 0;
  do {
    n = p.client->try_write(parts).value();
    total += n;
    ASSERT_LT(++calls, 1'000);
  } while (n == 2 * block.size());
  EXPECT_GT(total, 0u);
  p.client->close();
  EXPECT_EQ(this->body_.run(read_all(*p.server)).value().size(), total);
}

TYPED_TEST(TransportTest, CloseWakesAPendingReadWithCancelled) {
  Pair p = this->pair();
  std::optional<Errc> code;
  spawn(this->body_.loop.executor(), [&]() -> Async<void> {
    std::array<std::byte, 10> buffer;
    const auto result = co_await p.server->read_some(buffer);
    code = result.error().code;
  });
  this->body_.run(sleep_us(this->body_.loop.timers(), 2'000));
  EXPECT_FALSE(code);
  p.server->close();
  this->body_.run(sleep_us(this->body_.loop.timers(), 2'000));
  EXPECT_EQ(code, Errc::cancelled);
  EXPECT_EQ(this->body_.run(write_text(*p.server, "x")).error().code, Errc::cancelled);
}

TYPED_TEST(TransportTest, CloseWakesAPendingAcceptWithCancelled) {
  std::optional<Errc> code;
  spawn(this->body_.loop.executor(), [&]() -> Async<void> {
    const auto result = co_await this->listener_->accept();
    code = result.error().code;
  });
  this->body_.run(sleep_us(this->body_.loop.timers(), 2'000));
  this->listener_->close();
  this->body_.run(sleep_us(this->body_.loop.timers(), 2'000));
  EXPECT_EQ(code, Errc::cancelled);
}

TYPED_TEST(TransportTest, ConnectingWhereNobodyListensIsUnavailable) {
  const uint16_t port = this->listener_->port();
  this->listener_->close();
  const auto result =
      this->body_.run(this->body_.network.connect(TypeParam::kHost, port, kTimeoutUs));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::unavailable);
  EXPECT_NE(result.error().message.find(format_address(TypeParam::kHost, port)), std::string::npos);
}

TYPED_TEST(TransportTest, SecondListenerOnThePortNeedsReuse) {
  const auto second =
      this->body_.run(this->body_.network.listen(TypeParam::kHost, this->listener_->port(), false));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::unavailable);
}

TYPED_TEST(TransportTest, TwoListenersWithReuseShareThePort) {
  auto first = this->body_.run(this->body_.network.listen(TypeParam::kHost, 0, true));
  ASSERT_TRUE(first);
  auto second =
      this->body_.run(this->body_.network.listen(TypeParam::kHost, (*first)->port(), true));
  ASSERT_TRUE(second) << second.error().to_string();
}

TYPED_TEST(TransportTest, WritingToAPeerThatIsGoneEndsWithUnavailable) {
  Pair p = this->pair();
  p.server->close();
  this->body_.run(sleep_us(this->body_.loop.timers(), 2'000));
  Result<void> result;
  for (int i = 0; i < 20 && result; ++i) {
    result = this->body_.run(write_text(*p.client, "more"));
    this->body_.run(sleep_us(this->body_.loop.timers(), 2'000));
  }
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::unavailable);
}

// The number of a descriptor is in operations that the kernel may not know yet. Were it free, they
// would receive from whatever gets it next.
TEST(UringStreams, ADescriptorIsClosedAfterTheReceiveThatNamesIt) {
  if (!UringBody::available()) GTEST_SKIP() << "io_uring is not available";
  class Handler final : public ReceiveHandler {
   public:
    void on_received(Result<size_t> bytes) override { result = std::move(bytes); }
    std::optional<Result<size_t>> result;
  };
  UringBody body;
  auto listener = body.run(body.network.listen(UringBody::kHost, 0, false)).value();
  Pair p = body.run(connect_pair(body.network, *listener, UringBody::kHost));
  const auto lowest_free = [] {
    const int fd = ::dup(STDERR_FILENO);
    ::close(fd);
    return fd;
  };
  const int before = lowest_free();
  std::array<std::byte, 10> buffer;
  Handler handler;
  ASSERT_TRUE(p.client->start_receive(buffer, handler));
  p.client->close();
  EXPECT_EQ(lowest_free(), before);
  EXPECT_FALSE(handler.result) << "never inside close()";
  body.run(sleep_us(body.loop.timers(), 5'000));
  ASSERT_TRUE(handler.result);
  EXPECT_EQ(handler.result->error().code, Errc::cancelled);
  EXPECT_LT(lowest_free(), before);
}

TEST(TcpNetwork, ResolvesNamesAndRefusesToListenOnNonsense) {
  TcpBody body;
  auto listener = body.run(body.network.listen("localhost", 0, false));
  ASSERT_TRUE(listener) << listener.error().to_string();
  auto stream = body.run(body.network.connect("localhost", (*listener)->port(), kTimeoutUs));
  EXPECT_TRUE(stream);
  const auto bad = body.run(body.network.listen("no.such.host.invalid", 0, false));
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, Errc::invalid_argument);
}

TEST(TcpNetwork, AcceptOutlastsAShortageOfDescriptors) {
#ifdef CELLAR_SANITIZED
  GTEST_SKIP() << "the sanitizer's own checks open pipes, which this test forbids";
#endif
  TcpBody body;
  auto listener = body.run(body.network.listen("127.0.0.1", 0, false)).value();
  auto client = body.run(body.network.connect("127.0.0.1", listener->port(), kTimeoutUs));
  ASSERT_TRUE(client);
  rlimit old{};
  getrlimit(RLIMIT_NOFILE, &old);
  rlimit none = old;
  none.rlim_cur = 3;  // further descriptors are refused
  setrlimit(RLIMIT_NOFILE, &none);
  StreamPtr accepted;
  spawn(body.loop.executor(), [&]() -> Async<void> {
    auto result = co_await listener->accept();
    accepted = std::move(result).value();
  });
  const uint64_t turns_before = body.loop.turns();
  body.run(sleep_us(body.loop.timers(), 2 * TcpNetwork::kAcceptPauseUs));
  EXPECT_FALSE(accepted);
  EXPECT_LT(body.loop.turns() - turns_before, 2'000u) << "a busy loop";
  setrlimit(RLIMIT_NOFILE, &old);
  body.run(sleep_us(body.loop.timers(), 3 * TcpNetwork::kAcceptPauseUs));
  EXPECT_TRUE(accepted);
}

TEST(SimNetwork, RefusedBlackHoledAndTooSlowConnectsFailAsAsked) {
  SimBody body;
  auto listener = body.run(body.network.listen("node", 0, false)).value();
  const auto connect = [&] {
    return body.run(body.network.connect("node", listener->port(), 10'000));
  };
  body.fabric.faults().refuse = true;
  EXPECT_EQ(connect().error().code, Errc::unavailable);
  body.fabric.faults() = {};
  body.fabric.faults().black_hole = true;
  const int64_t before = body.world.now_us();
  EXPECT_EQ(connect().error().code, Errc::deadline_exceeded);
  EXPECT_EQ(body.world.now_us() - before, 10'000);
  body.fabric.faults() = {};
  EXPECT_TRUE(connect());
}

TEST(SimNetwork, CutConnectionDeliversWhatPassedAndThenFailsBothWays) {
  SimBody body;
  auto listener = body.run(body.network.listen("node", 0, false)).value();
  body.fabric.faults().cut_after_bytes = 10;
  Pair p = body.run(connect_pair(body.network, *listener, "node"));
  EXPECT_TRUE(body.run(write_text(*p.client, "0123456789abc")));
  std::string got;
  const auto read = [&]() -> Async<Errc> {
    std::array<std::byte, 64> buffer;
    for (;;) {
      const auto n = co_await p.server->read_some(buffer);
      if (!n) co_return n.error().code;
      got += as_bytes_view(std::span(buffer).first(*n));
    }
  };
  EXPECT_EQ(body.run(read()), Errc::unavailable);
  EXPECT_EQ(got, "0123456789");
  EXPECT_EQ(body.run(write_text(*p.client, "x")).error().code, Errc::unavailable);
}

TEST(SimNetwork, HalfOpenConnectionSwallowsBytesWithoutAWord) {
  SimBody body;
  auto listener = body.run(body.network.listen("node", 0, false)).value();
  body.fabric.faults().half_open_after_bytes = 4;
  Pair p = body.run(connect_pair(body.network, *listener, "node"));
  EXPECT_TRUE(body.run(write_text(*p.client, "abcdefgh")));
  p.client->close();
  std::string got;
  bool ended = false;
  spawn(body.loop.executor(), [&]() -> Async<void> {
    std::array<std::byte, 64> buffer;
    for (;;) {
      const auto n = co_await p.server->read_some(buffer);
      if (!n || *n == 0) break;
      got += as_bytes_view(std::span(buffer).first(*n));
    }
    ended = true;
  });
  body.world.run_for_us(60'000'000);
  EXPECT_EQ(got, "abcd");
  EXPECT_FALSE(ended);
  p.server->close();
  body.world.run_until_idle();
  EXPECT_TRUE(ended);
}

TEST(SimNetwork, DelayIsPaidOneWay) {
  SimBody body;
  body.fabric.set_delay_us(3'000);
  auto listener = body.run(body.network.listen("node", 0, false)).value();
  Pair p = body.run(connect_pair(body.network, *listener, "node"));
  EXPECT_TRUE(body.run(write_text(*p.client, "x")));
  const int64_t before = body.world.now_us();
  std::array<std::byte, 4> buffer;
  EXPECT_EQ(body.run(p.server->read_some(buffer)).value(), 1u);
  EXPECT_EQ(body.world.now_us() - before, 3'000);
}

TEST(Address, ParsesHostAndPortAndSaysWhatIsWrong) {
  EXPECT_EQ(parse_address("127.0.0.1:80")->host, "127.0.0.1");
  EXPECT_EQ(parse_address("127.0.0.1:80")->port, 80);
  EXPECT_EQ(parse_address(":0")->host, "");
  EXPECT_EQ(parse_address("[::1]:65535")->host, "::1");
  EXPECT_EQ(parse_address("[::1]:65535")->port, 65'535);
  for (const char* bad :
       {"", "host", "host:", "host:x", "host:65536", "host:-1", "::1:80", "host:80x", "host: 80"}) {
    ASSERT_FALSE(parse_address(bad)) << bad;
    EXPECT_EQ(parse_address(bad).error().code, Errc::invalid_argument) << bad;
  }
  EXPECT_EQ(format_address("::1", 5), "[::1]:5");
}

}  // namespace
}  // namespace cellar
