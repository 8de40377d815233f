// EtcdGateway against servers that fail, lie and dawdle: what it answers its caller, what it
// repeats, and that nothing that arrives ends the process or takes without bound.
#include "io/remote/etcd/etcd_gateway.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "io/base/random.h"
#include "io/remote/etcd/base64.h"
#include "io/remote/etcd/gateway_watch.h"
#include "io/remote/etcd/http_reader.h"
#include "tests/io/remote/fake_etcd.h"
#include "tests/support/certificates.h"
#include "tests/support/seeds.h"

namespace cellar::test {
namespace {

using namespace etcd;

constexpr int64_t kTimeoutUs = 3'000'000;

std::string range_answer(int64_t revision, const std::string& value) {
  return fmt::format(
      R"({{"header":{{"revision":"{0}"}},"kvs":[{{"key":"{1}","create_revision":"{0}","mod_revision":"{0}","version":"1","value":"{2}"}}],"count":"1"}})",
      revision, to_base64("a"), to_base64(value));
}
std::string txn_answer(int64_t revision) {
  return fmt::format(
      R"({{"header":{{"revision":"{0}"}},"succeeded":true,"responses":[{{"response_put":{{"header":{{"revision":"{0}"}}}}}}]}})",
      revision);
}
std::string created() { return R"({"result":{"header":{"revision":"9"},"created":true}})"; }
std::string event(int64_t revision) {
  return fmt::format(R"({{"kv":{{"key":"{}","mod_revision":"{}","version":"1","value":"{}"}}}})",
                     to_base64("a"), revision, to_base64(std::to_string(revision)));
}
std::string events(const std::vector<int64_t>& revisions, bool fragment = false) {
  std::string list;
  for (const int64_t revision : revisions) list += (list.empty() ? "" : ",") + event(revision);
  return fmt::format(R"({{"result":{{"header":{{"revision":"9"}},{}"events":[{}]}}}})",
                     fragment ? R"("fragment":true,)" : "", list);
}

class EtcdGatewayTest : public testing::Test {
 protected:
  ~EtcdGatewayTest() override {
    // Everything that is suspended goes before what it refers to.
    if (port_ != nullptr) world_.block_on(loop_, port_->close());
    world_.crash();
  }

  FakeEtcd& serve(FakeEtcd::Handler handler, std::shared_ptr<const TlsContext> tls = nullptr) {
    const std::string host = fmt::format("10.0.0.{}", ++servers_);
    servers_list_.push_back(
        std::make_unique<FakeEtcd>(fabric_, loop_, host, std::move(handler), std::move(tls)));
    options_.endpoints.push_back({host, 2379});
    world_.run_until_idle();
    return *servers_list_.back();
  }
  EtcdGateway& port() {
    if (port_ == nullptr) {
      auto made =
          EtcdGateway::make(options_, network_, loop_.timers(), loop_.executor(), world_.random());
      EXPECT_TRUE(made.has_value()) << made.error().to_string();
      port_ = std::move(*made);
    }
    return *port_;
  }
  Result<RangeAnswer> read(int64_t timeout_us = kTimeoutUs) {
    return world_.block_on(loop_, port().range(Range{Keys::one("a")}, timeout_us));
  }
  Result<TxnOutcome> put(int64_t timeout_us = kTimeoutUs) {
    Txn txn;
    txn.then.push_back(Put{"a", "v"});
    return world_.block_on(loop_, port().txn(std::move(txn), timeout_us));
  }
  // "done", "unknown", or the name of the error, which says: not applied.
  std::string outcome_of(const Result<TxnOutcome>& outcome) {
    if (!outcome) {
      EXPECT_EQ(outcome.error().applied, Applied::not_applied);
      return std::string(errc_name(outcome.error().code));
    }
    if (std::holds_alternative<Done>(*outcome)) return "done";
    return std::holds_alternative<Unknown>(*outcome) ? "unknown" : "refused";
  }
  Result<WatchNews> next(Watch& watch, int64_t timeout_us = kTimeoutUs) {
    return world_.block_on(loop_, watch.next(timeout_us));
  }
  std::vector<int64_t> told(Watch& watch, size_t at_least) {
    std::vector<int64_t> revisions;
    while (revisions.size() < at_least) {
      auto news = next(watch, 60'000'000);
      if (!news || !std::holds_alternative<Changes>(*news)) break;
      for (const Change& change : std::get<Changes>(*news).changes) {
        revisions.push_back(change.now.modified.value());
      }
    }
    return revisions;
  }

  SimWorld world_{3};
  SimFabric fabric_{world_};
  SimLoop& loop_ = world_.add_loop();
  SimNetwork network_{fabric_, loop_};
  EtcdOptions options_;
  int servers_ = 0;
  int server_calls_ = 0;
  std::vector<std::unique_ptr<FakeEtcd>> servers_list_;
  std::unique_ptr<EtcdGateway> port_;
};

// Answers that no caller may take for one.
std::vector<Reply> broken_replies() {
  const std::string good = json_reply(txn_answer(5)).bytes;
  std::vector<Reply> replies;
  replies.push_back({"garbage\r\n\r\n"});
  replies.push_back({std::string(100'000, '\0')});
  replies.push_back({"HTTP/1.1 200 OK\r\n" + std::string(100'000, 'x')});
  replies.push_back({"HTTP/1.1 200 OK\r\nA: " + std::string(200'000, 'y') + "\r\n\r\n"});
  replies.push_back({"", 0, 0, true});
  replies.push_back({good.substr(0, good.size() / 2), 0, 0, true});
  replies.push_back({good.substr(0, good.size() - 1), 0, 0, false, true});
  replies.push_back({good.substr(0, 10), 0, 0, false, true});
  replies.push_back({"", 0, 0, false, true});
  replies.push_back({good, 1, 200'000});  // slow bytes
  replies.push_back({"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", 0, 0, false, true});
  replies.push_back({"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n"});
  replies.push_back({"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n"});
  replies.push_back(
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(100'000, '1')});
  replies.push_back(json_reply("{"));
  replies.push_back(json_reply("[]"));
  replies.push_back(json_reply("null"));
  replies.push_back(json_reply(""));
  replies.push_back(json_reply("{}"));
  replies.push_back(json_reply(std::string(5'000, '[') + std::string(5'000, ']')));
  replies.push_back(json_reply(R"({"header":{"revision":"99999999999999999999"}})"));
  replies.push_back(json_reply(R"({"header":{"revision":"-5"}})"));
  replies.push_back(json_reply(R"({"header":{"revision":true}})"));
  replies.push_back(json_reply(R"({"header":7})"));
  replies.push_back(json_reply("<html>", 502));
  replies.push_back(json_reply("", 503));
  replies.push_back(json_reply(R"({"code":"x","message":7})", 400));
  replies.push_back(json_reply(R"({"code":99,"message":"etcdserver: x"})", 400));
  return replies;
}

TEST_F(EtcdGatewayTest, WhatIsNoAnswerLeavesAChangeUnknownAndARangeWithAnError) {
  const std::vector<Reply> replies = broken_replies();
  size_t at = 0;
  FakeEtcd& server = serve([&](const Request&) { return replies[at]; });
  for (at = 0; at < replies.size(); ++at) {
    const size_t before = server.requests().size();
    EXPECT_EQ(outcome_of(put()), "unknown") << at << ": " << replies[at].bytes.substr(0, 120);
    EXPECT_EQ(server.requests().size(), before + 1) << "a change is sent once";
    const int64_t began_us = world_.now_us();
    const auto answer = read();
    EXPECT_FALSE(answer.has_value()) << at;
    EXPECT_LE(world_.now_us() - began_us, kTimeoutUs + 1'000'000) << at;
  }
}

TEST_F(EtcdGatewayTest, WhatDoesNotAnswerTheTransactionLeavesItUnknown) {
  const char* answers[] = {
      R"({"header":{"revision":"5"},"succeeded":true})",
      R"({"header":{"revision":"5"},"succeeded":"yes","responses":[{"response_put":{}}]})",
      R"({"header":{},"succeeded":true,"responses":[{"response_put":{}}]})",
      R"({"header":{"revision":"5"},"succeeded":true,"responses":[{}]})",
      R"({"header":{"revision":"5"},"succeeded":true,"responses":[{"response_put":{}},{"response_put":{}}]})",
      R"({"header":{"revision":"5"},"succeeded":true,"responses":[{"response_range":{}}]})",
      R"({"header":{"revision":"5"},"responses":[{"response_put":{}}]})",
  };
  size_t at = 0;
  serve([&](const Request&) { return json_reply(answers[at]); });
  for (at = 0; at < std::size(answers); ++at) EXPECT_EQ(outcome_of(put()), "unknown") << at;
  EXPECT_EQ(port().stats().unknown, std::size(answers));
}

TEST_F(EtcdGatewayTest, AnAnswerOverTheBoundIsRefusedBeforeItIsRead) {
  std::string body = range_answer(5, std::string(kMaxAnswerBytes, 'x'));
  serve([&](const Request&) { return json_reply(body); });
  const auto answer = read();
  EXPECT_FALSE(answer.has_value());
  EXPECT_GT(port().stats().refused_answers, 0u);
}

// Every prefix and random changes of a good answer: no crash, and no answer but the true one from a
// prefix.
TEST_F(EtcdGatewayTest, NoMutationOfAnAnswerEndsTheProcess) {
  options_.attempt_us = 2'000;
  Reply reply;
  serve([&](const Request&) { return reply; });
  const std::string good = json_reply(range_answer(5, "value")).bytes;
  reply = {good};
  EXPECT_EQ(read()->items.at(0).value, "value");
  for (size_t size = 0; size < good.size(); size += 3) {
    reply = {good.substr(0, size), 0, 0, true};
    EXPECT_FALSE(read(3'000).has_value()) << size;
  }
  Random random(test_seeds(1).front());
  for (int i = 0; i < 3'000; ++i) {
    std::string bytes = good;
    for (uint64_t n = 1 + random.below(4); n > 0; --n) {
      const size_t at = random.below(bytes.size());
      switch (random.below(4)) {
        case 0:
          bytes[at] = static_cast<char>(random.below(256));
          break;
        case 1:
          bytes.erase(at, 1 + random.below(8));
          break;
        case 2:
          bytes.insert(at, std::string(1 + random.below(8), static_cast<char>(random.below(256))));
          break;
        default:
          bytes.insert(at, bytes.substr(at, random.below(40)));
      }
      if (bytes.empty()) bytes = "x";
    }
    reply = {bytes, random.one_in(3) ? 1 + random.below(20) : 0, 0, random.one_in(2)};
    (void)read(3'000);
  }
}

TEST_F(EtcdGatewayTest, WhatEtcdRefusesBeforeItProposesIsCertain) {
  Reply reply;
  serve([&](const Request&) { return reply; });
  const std::tuple<int, int, std::string, std::string> table[] = {
      {400, 3, "etcdserver: duplicate key given in txn request", "INVALID_ARGUMENT"},
      {404, 5, "etcdserver: requested lease not found", "NOT_FOUND"},
      {403, 7, "etcdserver: permission denied", "PERMISSION_DENIED"},
      {429, 8, "etcdserver: mvcc: database space exceeded", "RESOURCE_EXHAUSTED"},
      {429, 8, "etcdserver: too many requests", "RESOURCE_EXHAUSTED"},
      {412, 9, "etcdserver: authentication is not enabled", "FAILED_PRECONDITION"},
      // Not certain: etcd had proposed it, or somebody else speaks.
      {503, 14, "etcdserver: request timed out", "unknown"},
      {503, 14, "etcdserver: request timed out, possibly due to previous leader failure",
       "unknown"},
      {503, 14, "etcdserver: leader changed", "unknown"},
      {503, 14, "transport is closing", "unknown"},
      {408, 4, "context deadline exceeded", "unknown"},
      {500, 2, "raft proposal dropped", "unknown"},
      {429, 8, "grpc: received message larger than max", "unknown"},
      {403, 7, "forbidden by a proxy", "unknown"},
      {500, 13, "etcdserver: internal", "unknown"},
  };
  for (const auto& [status, code, message, expected] : table) {
    reply = refusal_reply(status, code, message);
    EXPECT_EQ(outcome_of(put()), expected) << message;
  }
}

TEST_F(EtcdGatewayTest, AMemberWithoutALeaderIsLeft) {
  FakeEtcd& alone =
      serve([](const Request&) { return refusal_reply(503, 14, "etcdserver: no leader"); });
  FakeEtcd& good = serve([](const Request&) { return json_reply(txn_answer(5)); });
  EXPECT_EQ(outcome_of(put()), "done");
  EXPECT_EQ(alone.requests().size(), 1u);
  EXPECT_EQ(good.requests().size(), 1u);
  EXPECT_NE(good.requests()[0].head.find("Grpc-Metadata-hasleader: true"), std::string::npos);
  EXPECT_EQ(port().stats().failovers, 1u);
  EXPECT_EQ(outcome_of(put()), "done");
  EXPECT_EQ(alone.requests().size(), 1u) << "it stays with the one that serves";
}

TEST_F(EtcdGatewayTest, AnEndpointThatDoesNotListenIsPassedOver) {
  options_.endpoints.push_back({"10.0.0.77", 2379});
  FakeEtcd& good = serve([](const Request&) { return json_reply(txn_answer(5)); });
  EXPECT_EQ(outcome_of(put()), "done");
  EXPECT_EQ(good.requests().size(), 1u);
}

TEST_F(EtcdGatewayTest, WithoutAnEndpointNothingIsUnknown) {
  options_.endpoints = {{"10.0.0.77", 2379}, {"10.0.0.78", 2379}};
  EXPECT_EQ(outcome_of(put()), "UNAVAILABLE");
  EXPECT_FALSE(read().has_value());
  EXPECT_EQ(port().stats().requests, 0u);
}

TEST_F(EtcdGatewayTest, ARangeGoesToTheNextEndpointAndAChangeWaits) {
  FakeEtcd& silent = serve([](const Request&) { return Reply{"", 0, 0, false, true}; });
  FakeEtcd& good = serve([](const Request& request) {
    return json_reply(request.path == "/v3/kv/txn" ? txn_answer(6) : range_answer(5, "v"));
  });
  const int64_t began_us = world_.now_us();
  EXPECT_EQ(outcome_of(put()), "unknown");
  EXPECT_GE(world_.now_us() - began_us, kTimeoutUs);
  EXPECT_EQ(silent.count("/v3/kv/txn"), 1u);
  EXPECT_EQ(good.count("/v3/kv/txn"), 0u);
  EXPECT_EQ(read()->items.at(0).value, "v");
}

TEST_F(EtcdGatewayTest, ALateAnswerIsNotTakenForThatOfAnotherRequest) {
  int served = 0;
  serve([&](const Request&) {
    Reply reply = json_reply(range_answer(5, std::to_string(++served)));
    if (served == 1) reply.pause_us = 1'500'000;
    return reply;
  });
  const auto first = read(1'100'000);  // the second attempt is answered
  EXPECT_EQ(first->items.at(0).value, "2");
  for (int i = 3; i < 10; ++i) {
    EXPECT_EQ(read()->items.at(0).value, std::to_string(i));
    world_.run_for_us(300'000);
  }
}

TEST_F(EtcdGatewayTest, ASlowAnswerIsWaitedForLongerEachTime) {
  FakeEtcd& server = serve([&](const Request&) {
    Reply reply = json_reply(range_answer(5, "v"));
    reply.pause_us = 2'500'000;
    return reply;
  });
  EXPECT_EQ(read(20'000'000)->items.at(0).value, "v");
  EXPECT_EQ(server.requests().size(), 3u);  // 1 s, 2 s, 4 s
}

TEST_F(EtcdGatewayTest, AnAnswerThatIsSentTwiceIsNotTakenForTheNextOne) {
  fabric_.set_short_reads(false);
  int served = 0;
  serve([&](const Request&) {
    Reply reply = json_reply(range_answer(5, std::to_string(++served)));
    reply.bytes += reply.bytes;
    return reply;
  });
  for (int i = 1; i < 5; ++i) EXPECT_EQ(read()->items.at(0).value, std::to_string(i));
}

TEST_F(EtcdGatewayTest, ALinkThatRestedIsNotUsedForAChange) {
  FakeEtcd& server = serve([](const Request&) { return json_reply(txn_answer(5)); });
  EXPECT_EQ(outcome_of(put()), "done");
  EXPECT_EQ(outcome_of(put()), "done");
  EXPECT_EQ(server.connections(), 1u);
  world_.run_for_us(EtcdGateway::kMaxIdleOfChangeUs + 1'000'000);
  EXPECT_EQ(outcome_of(put()), "done");
  EXPECT_EQ(server.connections(), 2u);
}

TEST_F(EtcdGatewayTest, ARenewalIsRepeatedAndAGoneLeaseIsToldAsSuch) {
  int served = 0;
  serve([&](const Request&) {
    if (++served == 1) return Reply{"", 0, 0, true};
    if (served == 2) return stream_reply({R"({"result":{"header":{},"ID":"7","TTL":"5"}})"}, true);
    return stream_reply({R"({"result":{"header":{},"ID":"7"}})"}, true);
  });
  const auto renewed = world_.block_on(loop_, port().keep_alive(LeaseId(7), kTimeoutUs));
  EXPECT_TRUE(renewed && std::get<Renewed>(*renewed).ttl_s == 5);
  const auto gone = world_.block_on(loop_, port().keep_alive(LeaseId(7), kTimeoutUs));
  EXPECT_EQ(gone ? Errc::ok : gone.error().code, Errc::not_found);
}

// ---- watches ----

TEST_F(EtcdGatewayTest, AWatchGoesOnBehindWhatItHasTold) {
  std::vector<std::string> asked;
  FakeEtcd& server = serve([&](const Request& request) {
    asked.push_back(request.body);
    Reply reply;
    switch (asked.size()) {
      case 1:  // two, then a part of the third revision, and the line breaks
        reply = stream_reply({created(), events({5, 6}), events({7, 7}, true)});
        reply.close = true;
        return reply;
      case 2:  // some again, and the whole of the third
        return stream_reply({created(), events({6, 7, 7}, true), events({7, 8})});
      default:
        return stream_reply({created()});
    }
  });
  auto watch = *port().watch({Keys::one("a"), Revision(5)});
  EXPECT_THAT(told(*watch, 6), testing::ElementsAre(5, 6, 7, 7, 7, 8));
  EXPECT_NE(asked[0].find(R"("start_revision":"5")"), std::string::npos);
  EXPECT_NE(asked[1].find(R"("start_revision":"7")"), std::string::npos);
  // A stream without a word is opened again, behind the last revision.
  world_.run_for_us(2 * options_.watch_quiet_us);
  EXPECT_GE(server.requests().size(), 3u);
  EXPECT_NE(asked[2].find(R"("start_revision":"9")"), std::string::npos);
  EXPECT_GE(port().stats().resumed, 2u);
}

TEST_F(EtcdGatewayTest, ABrokenStreamOfAWatchIsReplacedByAnother) {
  const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::vector<Reply> broken = {
      {"garbage\r\n\r\n"},
      {"", 0, 0, true},
      {"", 0, 0, false, true},
      {head + "5\r\n{\"a\":"},
      {head + "fffffffffffffff\r\n" + std::string(GatewayWatch::kMaxMessageBytes + 1'000'000, 'x')},
      {"HTTP/1.1 200 OK\r\nContent-Length: 9999999999999\r\n\r\n"},
      stream_reply({"{}"}),
      stream_reply({"null"}),
      stream_reply({created(), R"({"result":{"header":{},"events":[{"kv":{}}]}})"}),
      stream_reply({created(), R"({"result":{"header":{},"events":[{"type":"ODD"}]}})"}),
      stream_reply({created(), events({6, 5})}),
      stream_reply({created(), R"({"result":{"header":{},"canceled":true}})"}),
      stream_reply(
          {R"({"error":{"grpc_code":14,"http_code":503,"message":"etcdserver: no leader"}})"}),
      json_reply("", 503),
      refusal_reply(503, 14, "etcdserver: no leader"),
  };
  size_t served = 0;
  serve([&](const Request&) {
    return served < broken.size() ? broken[served++] : stream_reply({created(), events({5, 6})});
  });
  auto watch = *port().watch({Keys::one("a"), Revision(5)});
  EXPECT_THAT(told(*watch, 2), testing::ElementsAre(5, 6));
  EXPECT_EQ(served, broken.size());
}

TEST_F(EtcdGatewayTest, AWatchThatEtcdRefusesEnds) {
  Reply reply;
  serve([&](const Request&) { return reply; });
  reply = refusal_reply(403, 7, "etcdserver: permission denied");
  auto denied = *port().watch({Keys::one("a"), Revision(5)});
  EXPECT_EQ(next(*denied).error().code, Errc::permission_denied);
  reply = stream_reply(
      {created(),
       R"({"result":{"header":{},"canceled":true,"cancel_reason":"etcdserver: permission denied"}})"});
  auto cancelled = *port().watch({Keys::one("a"), Revision(5)});
  EXPECT_EQ(next(*cancelled).error().code, Errc::permission_denied);
  reply = stream_reply(
      {created(), R"({"result":{"header":{},"canceled":true,"compact_revision":"8"}})"});
  auto compacted = *port().watch({Keys::one("a"), Revision(5)});
  EXPECT_EQ(std::get<Compacted>(*next(*compacted)).oldest, Revision(8));
}

TEST_F(EtcdGatewayTest, AWatchIsReadNoFasterThanItsNewsAreTaken) {
  std::vector<std::string> messages = {created()};
  for (int64_t i = 5; i < 5'005; ++i) messages.push_back(events({i}));
  serve([&](const Request&) { return stream_reply(messages); });
  auto watch = *port().watch({Keys::one("a"), Revision(5)});
  EXPECT_THAT(told(*watch, 1), testing::ElementsAre(5));
  world_.run_for_us(10'000'000);
  const auto rest = told(*watch, 4'999);
  ASSERT_EQ(rest.size(), 4'999u);
  EXPECT_EQ(rest.back(), 5'004);
}

// ---- authentication ----

TEST_F(EtcdGatewayTest, AUserGetsATokenOverTlsAndAnotherWhenItExpires) {
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("etcd_tls_{}", ::getpid());
  Authority authority(folder, "ca");
  authority.issue("etcd", {.addresses = {"10.0.0.1"}});
  const auto server_side =
      *TlsContext::make_server({authority.cert("etcd"), authority.key("etcd")});
  options_.tls = *TlsContext::make_client({.ca = authority.ca()});
  std::filesystem::remove_all(folder);
  options_.user = "root";
  options_.password = "secret";
  int tokens = 0;
  FakeEtcd& server = serve(
      [&](const Request& request) {
        if (request.path == "/v3/auth/authenticate") {
          EXPECT_EQ(request.body, R"({"name":"root","password":"secret"})");
          return json_reply(fmt::format(R"({{"header":{{}},"token":"t.{}"}})", ++tokens));
        }
        const bool fresh =
            request.head.find(fmt::format("Authorization: t.{}\r\n", tokens)) != std::string::npos;
        EXPECT_TRUE(fresh || request.head.ends_with(fmt::format("Authorization: t.{}", tokens)));
        if (server_calls_++ == 1) return refusal_reply(401, 16, "etcdserver: invalid auth token");
        return json_reply(txn_answer(5));
      },
      server_side);
  EXPECT_EQ(outcome_of(put()), "done");
  EXPECT_EQ(tokens, 1);
  EXPECT_EQ(outcome_of(put()), "done");
  EXPECT_EQ(tokens, 2);
  EXPECT_EQ(server.count("/v3/kv/txn"), 3u);
}

TEST_F(EtcdGatewayTest, AWrongPasswordIsToldAtOnce) {
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("etcd_tls_{}", ::getpid());
  Authority authority(folder, "ca");
  authority.issue("etcd", {.addresses = {"10.0.0.1"}});
  const auto server_side =
      *TlsContext::make_server({authority.cert("etcd"), authority.key("etcd")});
  options_.tls = *TlsContext::make_client({.ca = authority.ca()});
  std::filesystem::remove_all(folder);
  options_.user = "root";
  options_.password = "wrong";
  FakeEtcd& server = serve(
      [](const Request&) {
        return refusal_reply(400, 3,
                             "etcdserver: authentication failed, invalid user ID or password");
      },
      server_side);
  EXPECT_EQ(outcome_of(put()), "INVALID_ARGUMENT");
  EXPECT_EQ(server.requests().size(), 1u);
  auto watch = *port().watch({Keys::one("a"), Revision(5)});
  EXPECT_EQ(next(*watch).error().code, Errc::invalid_argument);
}

TEST_F(EtcdGatewayTest, APasswordNeedsTlsAndAPortNeedsEndpoints) {
  const auto make = [&] {
    return EtcdGateway::make(options_, network_, loop_.timers(), loop_.executor(), world_.random());
  };
  EXPECT_EQ(make().error().code, Errc::invalid_argument);
  options_.endpoints.resize(kMaxEndpoints + 1, {"10.0.0.1", 2379});
  EXPECT_EQ(make().error().code, Errc::invalid_argument);
  options_.endpoints.pop_back();
  EXPECT_TRUE(make().has_value());
  options_.user = "root";
  EXPECT_EQ(make().error().code, Errc::invalid_argument);
}

// ---- parts ----

TEST(EtcdBase64, GoesThereAndBackAndRefusesTheRest) {
  Random random(1);
  for (int i = 0; i < 2'000; ++i) {
    std::string bytes(random.below(50), '\0');
    for (char& c : bytes) c = static_cast<char>(random.below(256));
    const std::string text = to_base64(bytes);
    EXPECT_EQ(from_base64(text), bytes);
    EXPECT_EQ(text.size(), (bytes.size() + 2) / 3 * 4);
  }
  EXPECT_EQ(to_base64("any carnal pleasure."), "YW55IGNhcm5hbCBwbGVhc3VyZS4=");
  EXPECT_EQ(from_base64(""), "");
  for (const char* wrong : {"Y", "YW", "YW5", "YW55=", "Y===", "====", "YW=5", "YW5\n", "YW-_"}) {
    EXPECT_EQ(from_base64(wrong), std::nullopt) << wrong;
  }
}

TEST(EtcdKeys, APrefixEndsBehindItsLastKey) {
  EXPECT_TRUE(Keys::prefix("a/").contains("a/"));
  EXPECT_TRUE(Keys::prefix("a/").contains("a/\xff\xff"));
  EXPECT_FALSE(Keys::prefix("a/").contains("a0"));
  EXPECT_TRUE(Keys::prefix("\xff").contains("\xff\xff"));
  EXPECT_TRUE(Keys::prefix("").contains(std::string(1, '\0')));
  EXPECT_FALSE(Keys::one("a").contains("a0"));
}

}  // namespace
}  // namespace cellar::test
