// EtcdGateway against servers that fail, lie and dawdle: what it answers its caller, what it
// repeats, and that nothing that arrives ends the process or takes without bound.
#include "io/remote/etcd/etcd_gateway.h"

#include <gmock/gmock.h>

#include "io/base/random.h"
#include "io/remote/etcd/base64.h"
#include "io/remote/etcd/gateway_watch.h"
#include "io/remote/etcd/http_reader.h"
#include "tests/io/remote/gateway_bed.h"
#include "tests/support/seeds.h"

namespace cellar::test {
namespace {

using namespace etcd;

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

TEST_F(EtcdGatewayTest, AnAnswerOverTheBoundIsRefusedOnceAndForAll) {
  fabric_.set_short_reads(false);
  const std::string body = range_answer(5, std::string(kMaxAnswerBytes, 'x'));
  std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  chunked += fmt::format("{:x}\r\n{}\r\n0\r\n\r\n", body.size(), body);
  Reply reply;
  FakeEtcd& first = serve([&](const Request&) { return reply; });
  FakeEtcd& second = serve([&](const Request&) { return reply; });
  for (const Reply& one : {json_reply(body), Reply{chunked}}) {
    reply = one;
    const size_t before = first.requests().size();
    const auto answer = read();
    EXPECT_EQ(answer ? Errc::ok : answer.error().code, Errc::resource_exhausted);
    EXPECT_EQ(outcome_of(put()), "unknown");
    EXPECT_EQ(first.requests().size(), before + 2);
  }
  EXPECT_EQ(second.requests().size(), 0u);
  EXPECT_EQ(port().stats().failovers, 0u);
  EXPECT_EQ(port().stats().refused_answers, 4u);
}

TEST_F(EtcdGatewayTest, APageOfOtherItemsThanThoseAskedForIsRefused) {
  const auto page = [](const std::vector<std::string>& keys, bool more = false) {
    std::string list;
    for (const std::string& key : keys) {
      list += fmt::format(R"({}{{"key":"{}","mod_revision":"4","create_revision":"4"}})",
                          list.empty() ? "" : ",", to_base64(key));
    }
    return json_reply(fmt::format(R"({{"header":{{"revision":"5"}},"kvs":[{}],"count":"9"{}}})",
                                  list, more ? R"(,"more":true)" : ""));
  };
  Reply reply = page({"b", "c"}, true);
  serve([&](const Request&) { return reply; });
  Range range{{"b", "d"}};
  range.limit = 2;
  const auto code = [&](const Range& one) {
    const auto answer = world_.block_on(loop_, port().range(one, kTimeoutUs));
    return answer ? Errc::ok : answer.error().code;
  };
  EXPECT_EQ(code(range), Errc::ok);
  for (const Reply& wrong : {page({"b", "d"}), page({"a", "b"}), page({"c", "b"}), page({"b", "b"}),
                             page({"b", "b1", "c"}), page({}, true)}) {
    reply = wrong;
    EXPECT_EQ(code(range), Errc::data_loss) << reply.bytes;
  }
  reply = page({"b"});
  range.count_only = true;
  EXPECT_EQ(code(range), Errc::data_loss);
}

TEST_F(EtcdGatewayTest, ARevisionThatNoClusterReachesIsRefused) {
  Reply reply = json_reply(range_answer(kMaxRevision, "v"));
  serve([&](const Request&) { return reply; });
  EXPECT_TRUE(read().has_value());
  reply = json_reply(range_answer(kMaxRevision + 1, "v"));
  EXPECT_EQ(read().error().code, Errc::data_loss);
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
      {429, 8, "etcdserver: too many requests", "RESOURCE_EXHAUSTED"},
      {412, 9, "etcdserver: authentication is not enabled", "FAILED_PRECONDITION"},
      // Not certain: etcd had proposed it, or somebody else speaks. The quota is told before the
      // proposal, and also by the member that has just applied it.
      {429, 8, "etcdserver: mvcc: database space exceeded", "unknown"},
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

// What a stream says of its revision when it begins behind what was told: the cluster tells whether
// only this member is behind.
TEST_F(EtcdGatewayTest, AWatchOfAClusterThatWasRestoredEndsAndThatOfALateMemberGoesOn) {
  int64_t of_cluster = 20;
  int streams = 0;
  serve([&](const Request& request) {
    if (request.path == "/v3/kv/range") return json_reply(range_answer(of_cluster, "v"));
    Reply reply = stream_reply({created(), events({++streams + 10})});  // created() says 9
    reply.close = true;
    return reply;
  });
  auto watch = *port().watch({Keys::one("a"), Revision(5)});
  EXPECT_THAT(told(*watch, 3), testing::ElementsAre(11, 12, 13));
  of_cluster = 9;
  Result<WatchNews> news = next(*watch);
  while (news) news = next(*watch);
  EXPECT_EQ(news.error().code, Errc::data_loss);
}

TEST_F(EtcdGatewayTest, AProgressThatNoClusterReachesBreaksTheStream) {
  int streams = 0;
  serve([&](const Request&) {
    if (++streams > 1) return stream_reply({created(), events({5})});
    return stream_reply({created(), R"({"result":{"header":{"revision":"9223372036854775807"}}})"});
  });
  auto watch = *port().watch({Keys::one("a"), Revision(5)});
  EXPECT_THAT(told(*watch, 1), testing::ElementsAre(5));
  EXPECT_EQ(port().stats().refused_answers, 1u);
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
