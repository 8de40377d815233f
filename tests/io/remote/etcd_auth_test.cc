// EtcdGateway and tokens: where a login hangs, a token expires, or users change.
#include <gmock/gmock.h>

#include "tests/io/remote/gateway_bed.h"

namespace cellar::test {
namespace {

class EtcdAuthTest : public EtcdGatewayTest {
 protected:
  // Gives tokens t.1, t.2, ... and hands every other request to `handler` with the number of its
  // token.
  FakeEtcd& serve_users(std::function<Reply(const Request&, int)> handler) {
    auto server_side = use_password();
    return serve(
        [this, handler = std::move(handler)](const Request& request) {
          if (request.path == "/v3/auth/authenticate") {
            return json_reply(fmt::format(R"({{"header":{{}},"token":"t.{}"}})", ++tokens_));
          }
          const size_t at = request.head.find("Authorization: t.");
          if (at == std::string::npos) {
            return refusal_reply(400, 3, "etcdserver: user name is empty");
          }
          return handler(request, std::stoi(request.head.substr(at + 17)));
        },
        std::move(server_side));
  }
  int tokens_ = 0;
};

TEST_F(EtcdAuthTest, AUserGetsATokenOverTlsAndAnotherWhenItExpires) {
  int tokens = 0;
  int server_calls = 0;
  FakeEtcd& server = serve(
      [&](const Request& request) {
        if (request.path == "/v3/auth/authenticate") {
          EXPECT_EQ(request.body, R"({"name":"root","password":"secret"})");
          return json_reply(fmt::format(R"({{"header":{{}},"token":"t.{}"}})", ++tokens));
        }
        const bool fresh =
            request.head.find(fmt::format("Authorization: t.{}\r\n", tokens)) != std::string::npos;
        EXPECT_TRUE(fresh || request.head.ends_with(fmt::format("Authorization: t.{}", tokens)));
        if (server_calls++ == 1) return refusal_reply(401, 16, "etcdserver: invalid auth token");
        return json_reply(txn_answer(5));
      },
      use_password());
  EXPECT_EQ(outcome_of(put()), "done");
  EXPECT_EQ(tokens, 1);
  EXPECT_EQ(outcome_of(put()), "done");
  EXPECT_EQ(tokens, 2);
  EXPECT_EQ(server.count("/v3/kv/txn"), 3u);
}

TEST_F(EtcdAuthTest, AWrongPasswordIsToldAtOnce) {
  FakeEtcd& server = serve(
      [](const Request&) {
        return refusal_reply(400, 3,
                             "etcdserver: authentication failed, invalid user ID or password");
      },
      use_password());
  EXPECT_EQ(outcome_of(put()), "INVALID_ARGUMENT");
  EXPECT_EQ(server.requests().size(), 1u);
  auto watch = *port().watch({Keys::one("a"), Revision(5)});
  EXPECT_EQ(next(*watch).error().code, Errc::invalid_argument);
}

TEST_F(EtcdAuthTest, ATokenThatIsRefusedIsReplaced) {
  Reply refusal;
  int accepted = 1;
  FakeEtcd& server = serve_users([&](const Request&, int token) {
    return token < accepted ? refusal : json_reply(txn_answer(5));
  });
  EXPECT_EQ(outcome_of(put()), "done");
  for (const Reply& one : {refusal_reply(401, 16, "etcdserver: invalid auth token"),
                           refusal_reply(400, 3, "etcdserver: revision of auth store is old")}) {
    refusal = one;
    accepted = tokens_ + 1;
    EXPECT_EQ(outcome_of(put()), "done") << one.bytes;
    EXPECT_EQ(tokens_, accepted);
  }
  EXPECT_EQ(server.count("/v3/kv/txn"), 5u);
}

// How etcd tells a watch that its token is no good.
std::vector<Reply> refusals_of_a_watch() {
  const auto cancelled = [](const char* reason) {
    return stream_reply(
        {created(),
         fmt::format(R"({{"result":{{"header":{{}},"canceled":true,"cancel_reason":"{}"}}}})",
                     reason)});
  };
  const auto error = [](int code, const char* message) {
    return stream_reply({fmt::format(
        R"({{"error":{{"grpc_code":{},"http_code":400,"message":"{}"}}}})", code, message)});
  };
  return {cancelled("etcdserver: permission denied"),
          cancelled("etcdserver: invalid auth token"),
          cancelled("rpc error: code = InvalidArgument desc = etcdserver: revision of auth store "
                    "is old"),
          error(7, "etcdserver: permission denied"),
          error(16, "etcdserver: invalid auth token"),
          error(3, "etcdserver: revision of auth store is old"),
          refusal_reply(403, 7, "etcdserver: permission denied"),
          refusal_reply(400, 3, "etcdserver: revision of auth store is old")};
}

TEST_F(EtcdAuthTest, AWatchWhoseTokenIsRefusedGoesOnWithAnother) {
  Reply refusal;
  int accepted = 1;
  int64_t revision = 4;
  serve_users([&](const Request& request, int token) {
    if (token < accepted) return refusal;
    if (request.path == "/v3/kv/range") return json_reply(range_answer(1'000, "v"));
    accepted = token + 1;  // it restarts behind each change
    Reply reply = stream_reply({created(), events({++revision})});
    reply.close = true;
    return reply;
  });
  for (const Reply& one : refusals_of_a_watch()) {
    refusal = one;
    const int before = tokens_;
    auto watch = *port().watch({Keys::one("a"), Revision(revision + 1)});
    EXPECT_EQ(told(*watch, 4).size(), 4u) << one.bytes;
    EXPECT_GE(tokens_, before + 3);
  }
}

TEST_F(EtcdAuthTest, AWatchThatIsDeniedEndsAfterAnotherToken) {
  const std::vector<Reply> refusals = refusals_of_a_watch();
  Reply refusal;
  serve_users([&](const Request&, int) { return refusal; });
  for (const size_t i : {0, 3, 6}) {
    refusal = refusals[i];
    port();
    const int before = tokens_;
    auto watch = *port().watch({Keys::one("a"), Revision(5)});
    const auto news = next(*watch);
    EXPECT_EQ(news ? Errc::ok : news.error().code, Errc::permission_denied);
    EXPECT_LE(tokens_, before + 2);
  }
}

// ---- logins that hang ----

TEST_F(EtcdAuthTest, CallsThatWaitForALoginEndInTheirTime) {
  serve([](const Request&) { return Reply{"", 0, 0, false, true}; }, use_password());
  int over = 0;
  for (size_t i = 0; i < kMaxInFlight; ++i) {
    const int64_t timeout_us = 1'000'000 + static_cast<int64_t>(i % 4) * 1'000'000;
    spawn(loop_.executor(), [this, timeout_us, &over]() -> Async<void> {
      const int64_t began_us = loop_.timers().now_us();
      const auto answer = co_await port().range(Range{Keys::one("a")}, timeout_us);
      EXPECT_FALSE(answer.has_value());
      EXPECT_LE(loop_.timers().now_us() - began_us, timeout_us + 100'000);
      ++over;
    });
  }
  world_.run_for_us(5'000'000);
  EXPECT_EQ(over, static_cast<int>(kMaxInFlight));
}

TEST_F(EtcdAuthTest, CloseDoesNotWaitForALogin) {
  use_password();
  FakeEtcd& server = serve([](const Request&) { return Reply{}; });  // no answer to a handshake
  int over = 0;
  for (size_t i = 0; i < kMaxInFlight; ++i) {
    spawn(loop_.executor(), [this, &over]() -> Async<void> {
      const auto answer = co_await port().range(Range{Keys::one("a")}, 60'000'000);
      EXPECT_EQ(answer ? Errc::ok : answer.error().code, Errc::cancelled);
      ++over;
    });
  }
  world_.run_for_us(300'000);
  EXPECT_EQ(server.connections(), 1u) << "one login for all";
  const int64_t began_us = world_.now_us();
  world_.block_on(loop_, port().close());
  EXPECT_LE(world_.now_us() - began_us, 1'000'000);
  EXPECT_EQ(over, static_cast<int>(kMaxInFlight));
}

TEST_F(EtcdAuthTest, ASlowLoginIsWaitedForLongerEachTime) {
  serve(
      [this](const Request& request) {
        Reply reply = json_reply(request.path == "/v3/kv/range"
                                     ? range_answer(5, "v")
                                     : fmt::format(R"({{"token":"t.{}"}})", ++tokens_));
        if (request.path != "/v3/kv/range") reply.pause_us = 2'500'000;
        return reply;
      },
      use_password());
  EXPECT_TRUE(read(20'000'000).has_value());
  EXPECT_EQ(tokens_, 3);  // 1 s, 2 s, 4 s
}

}  // namespace
}  // namespace cellar::test
