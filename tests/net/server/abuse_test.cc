// Peers that violate the protocol: each harms only its own connection.
#include <gtest/gtest.h>

#include "io/base/random.h"
#include "net/server/limits/admission.h"
#include "tests/net/server/server_bed.h"

namespace cellar::server {
namespace {

namespace fb = wire::fb;
using fb::Op;

class AbuseTest : public testing::Test {
 protected:
  AbuseTest() {
    CHECK(good.code_of(Op::CreateTable, wire::create_table_body("t", {"f"}, {"m"})) == Errc::ok);
    CHECK(good.code_of(Op::MutateRow, wire::set_body("t", "a", "f", "q", "v", 1000)) == Errc::ok);
  }
  void expect_unharmed() {
    EXPECT_FALSE(good.closed());
    EXPECT_EQ(read_all(good, "t"), std::vector<std::string>{"a f:q@1000=v"});
  }
  std::string preface() {
    std::string bytes;
    wire::append_preface(bytes, {});
    return bytes;
  }

  ServerBed bed;
  Peer good{bed};
};

TEST_F(AbuseTest, OtherProtocolsAreCutOff) {
  const std::string tls("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\x00\x00\x00\x00\x00", 16);
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), tls, std::string(4096, '\0')}) {
    Peer peer(bed, false);
    peer.send(bytes);
    EXPECT_TRUE(peer.closes());
    EXPECT_TRUE(peer.received.empty());
  }
  expect_unharmed();
}

TEST_F(AbuseTest, FramesThatCannotBeCutTheConnection) {
  const auto closes = [&](auto change) {
    Peer peer(bed);
    wire::FrameHeader header;
    header.op = static_cast<uint16_t>(Op::Ping);
    change(header);
    std::string bytes;
    wire::append_header(bytes, header);
    peer.send(bytes + std::string(16, 'x'));
    return peer.closes();
  };
  EXPECT_TRUE(closes([](auto& h) { h.handle = wire::kMaxHandles + 1; }));
  EXPECT_TRUE(closes([](auto& h) { h.kind = static_cast<wire::FrameKind>(77); }));
  EXPECT_TRUE(closes([](auto& h) { h.kind = wire::FrameKind::reply; }));
  EXPECT_TRUE(closes([](auto& h) { h.kind = wire::FrameKind::credit; }));
  EXPECT_TRUE(closes([](auto& h) { h.flags = 1u << 15; }));
  EXPECT_TRUE(closes([](auto& h) { h.flags = wire::kFrameError; }));
  EXPECT_TRUE(closes([](auto& h) { h.body_bytes = 7; }));
  EXPECT_TRUE(closes([](auto& h) { h.body_bytes = 0xfffffff8; }));
  expect_unharmed();
}

TEST_F(AbuseTest, APrefaceOfAnotherVersionIsCutOffWithoutAnAnswer) {
  for (const int version : {0, 1, 3, 65535}) {
    std::string bytes;
    wire::append_preface(bytes, {.version = static_cast<uint16_t>(version)});
    Peer peer(bed, false);
    peer.send(bytes + wire::request_frame(Op::Hello, 1, ""));
    EXPECT_TRUE(peer.closes()) << version;
    EXPECT_TRUE(peer.received.empty()) << version;
  }
  expect_unharmed();
}

// Neither request gets an answer, because it could be mistaken for the other's.
TEST_F(AbuseTest, AnIdThatIsInUseEndsTheConnectionWithTheReason) {
  ASSERT_EQ(good.code_of(Op::MutateRow, wire::set_body("t", "b", "f", "q", "v", 1000)), Errc::ok);
  Peer peer(bed);
  peer.send(wire::request_frame(Op::ReadRows, 5, wire::read_rows_body("t", {.credits = 1})) +
            wire::request_frame(Op::MutateRow, 5, wire::set_body("t", "c", "f", "q", "v", 1000)));
  ASSERT_TRUE(peer.closes());
  ASSERT_FALSE(peer.received.empty());
  Answer& last = peer.received.back();
  EXPECT_EQ(last.header.kind, wire::FrameKind::goaway);
  EXPECT_EQ(last.code(), Errc::invalid_argument);
  EXPECT_NE(last.message().find("request id 5"), std::string::npos) << last.message();
  for (const Answer& one : peer.received) {
    EXPECT_FALSE(one.header.kind == wire::FrameKind::reply && one.header.request_id == 5);
  }
  EXPECT_EQ(read_all(good, "t").size(), 2u) << "the second request was not applied";
}

TEST_F(AbuseTest, BeforeTheHelloOnlyLittleIsServed) {
  Peer peer(bed, false);
  peer.send(preface() + wire::request_frame(Op::ListTables, 1, "") +
            wire::request_frame(Op::Ping, 2, ""));
  EXPECT_EQ(peer.answer(1)->code(), Errc::failed_precondition);
  EXPECT_EQ(peer.answer(2)->code(), Errc::ok);
  peer.send(wire::request_frame(Op::Ping, 3, std::string(wire::kHandshakeFrameBytes + 8, 'x')));
  EXPECT_TRUE(peer.closes());
}

TEST_F(AbuseTest, ALateHelloIsNotWaitedFor) {
  Peer silent(bed, false);
  Peer half(bed, false);
  half.send(preface());
  bed.world().run_for_us(4'000'000);
  EXPECT_FALSE(silent.closed());
  bed.world().run_for_us(4'000'000);
  EXPECT_TRUE(silent.closed());
  EXPECT_TRUE(half.closed());
  expect_unharmed();
}

TEST_F(AbuseTest, TheThirdBodyThatDoesNotVerifyCutsTheConnection) {
  Peer peer(bed);
  const std::string rubbish(64, '\x7f');
  peer.send(wire::request_frame(Op::MutateRow, 5, rubbish));
  EXPECT_EQ(peer.answer(5)->code(), Errc::invalid_argument);
  peer.send(wire::request_frame(Op::ReadRow, 6, rubbish));
  EXPECT_EQ(peer.answer(6)->code(), Errc::invalid_argument);
  EXPECT_FALSE(peer.closed());
  peer.send(wire::request_frame(Op::ReadRows, 7, rubbish));
  EXPECT_EQ(peer.answer(7)->code(), Errc::invalid_argument);
  EXPECT_TRUE(peer.closes());
  expect_unharmed();
}

TEST_F(AbuseTest, ARequestCutAtAnyByteChangesNothing) {
  const std::string frame =
      wire::request_frame(Op::MutateRow, 5, wire::set_body("t", "x", "f", "q", "v", 1000));
  for (size_t n = 0; n < frame.size(); n += 7) {
    Peer peer(bed);
    peer.send(frame.substr(0, n));
    bed.world().run_for_us(1000);
    peer.hang_up();
  }
  bed.world().run_for_us(1'000'000);
  expect_unharmed();
}

TEST_F(AbuseTest, BentRequestsAreAnsweredOrCutNeverWorse) {
  Random random(5);
  const std::string frame =
      wire::request_frame(Op::ReadRows, 5, wire::read_rows_body("t", {.ranges = {{"a", "b"}}}));
  for (int i = 0; i < 300; ++i) {
    Peer peer(bed);
    std::string bent = frame;
    for (uint64_t k = 0; k < 1 + random.below(4); ++k) {
      bent[random.below(bent.size())] = static_cast<char>(random.next());
    }
    peer.send(bent);
    bed.world().run_for_us(2000);
  }
  expect_unharmed();
}

TEST_F(AbuseTest, AFrameThatCrawlsIsCutOff) {
  Peer peer(bed);
  const std::string frame = wire::request_frame(Op::Ping, 9, std::string(1024, 'x'));
  for (size_t i = 0; i < 60 && !peer.closed(); ++i) {
    peer.send(frame.substr(i, 1));
    bed.world().run_for_us(1'000'000);
  }
  EXPECT_TRUE(peer.closed());
  expect_unharmed();
}

TEST_F(AbuseTest, ASilentConnectionIsClosedAfterTheIdleTime) {
  Peer peer(bed);
  bed.world().run_for_us(NetOptions().idle_timeout_us - 20'000'000);
  EXPECT_FALSE(peer.closed());
  bed.world().run_for_us(40'000'000);
  EXPECT_TRUE(peer.closed());
}

// One shard, so that a read is answered in the call that accepts it; reads in progress on another
// shard are bounded by the requests in flight.
TEST(SlowPeer, AnswersThatNobodyTakesStopTheReadingAndThenTheConnection) {
  ServerBed bed(1);
  Peer good(bed);
  ASSERT_EQ(good.code_of(Op::CreateTable, wire::create_table_body("t", {"f"})), Errc::ok);
  const std::string value(64 * 1024, 'v');
  ASSERT_EQ(good.code_of(Op::MutateRow, wire::set_body("t", "big", "f", "q", value, 1000)),
            Errc::ok);
  const uint64_t before = bed.shard(0).counters().requests;
  Peer slow(bed);
  slow.pause_reading();
  std::string frames;
  for (uint64_t i = 0; i < 200; ++i) {
    frames += wire::request_frame(Op::ReadRow, i + 10, wire::read_row_body("t", "big"));
  }
  slow.send(frames);
  bed.world().run_for_us(5'000'000);
  // The bound of pending replies, one more answer, and the bytes in the network and in the peer's
  // last read.
  const uint64_t served = bed.shard(0).counters().requests - before;
  EXPECT_LT(served, (kMaxPendingReplyBytes + 2 * SimFabric::kWindowBytes) / value.size() + 2);
  // Other connections are served meanwhile.
  EXPECT_EQ(good.code_of(Op::Ping, ""), Errc::ok);
  bed.world().run_for_us(60'000'000);
  slow.resume_reading();
  EXPECT_TRUE(slow.closes());
}

// The answers do not fit into the network, so they are still being written when the peer breaks the
// rules.
TEST(SlowPeer, ThatBreaksTheRulesIsClosedWithItsAnswersUntaken) {
  ServerBed bed(1);
  Peer good(bed);
  ASSERT_EQ(good.code_of(Op::CreateTable, wire::create_table_body("t", {"f"})), Errc::ok);
  const std::string value(64 * 1024, 'v');
  ASSERT_EQ(good.code_of(Op::MutateRow, wire::set_body("t", "big", "f", "q", value, 1000)),
            Errc::ok);
  Peer slow(bed);
  slow.pause_reading();
  std::string frames;
  for (uint64_t i = 0; i < 12; ++i) {
    frames += wire::request_frame(Op::ReadRow, i + 10, wire::read_row_body("t", "big"));
  }
  slow.send(frames);
  bed.world().run_for_us(1'000'000);
  slow.send(wire::request_frame(Op::Ping, 99, "", wire::FrameKind::reply));
  bed.world().run_for_us(5'000'000);
  EXPECT_EQ(bed.shard(0).admission().connections(), 2u);
  bed.world().run_for_us(60'000'000);
  EXPECT_EQ(bed.shard(0).admission().connections(), 1u);
}

TEST_F(AbuseTest, AHandleKeepsNoNameThatIsNoTables) {
  const std::string name(60'000, 'x');
  good.send(wire::bind_frame(1, {.table = name}) +
            wire::request_frame(Op::ReadRow, 501, wire::read_row_body("", "r"),
                                wire::FrameKind::request, 0, 1));
  auto answer = good.answer(501);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->code(), Errc::invalid_argument);
  EXPECT_EQ(answer->message(), "handle 1 was bound to a table name of more than 50 bytes");
}

TEST_F(AbuseTest, ASlowReaderThatGoesOnGetsEverything) {
  const std::string value(64 * 1024, 'v');
  ASSERT_EQ(good.code_of(Op::MutateRow, wire::set_body("t", "big", "f", "q", value, 1000)),
            Errc::ok);
  Peer slow(bed);
  slow.pause_reading();
  std::string frames;
  for (uint64_t i = 0; i < 200; ++i) {
    frames += wire::request_frame(Op::ReadRow, i + 10, wire::read_row_body("t", "big"));
  }
  slow.send(frames);
  bed.world().run_for_us(5'000'000);
  slow.resume_reading();
  for (uint64_t i = 0; i < 200; ++i) {
    auto answer = slow.answer(i + 10);
    ASSERT_TRUE(answer) << i;
    EXPECT_EQ(cells_of(*answer).size(), 1u);
  }
}

TEST(Limits, NoMoreRequestsAreTakenOnThanAllowed) {
  ServerOptions options;
  options.net.in_flight = 4;
  ServerBed bed(2, options);
  Peer peer(bed);
  ASSERT_EQ(peer.code_of(Op::CreateTable, wire::create_table_body("t", {"f"}, {"m"})), Errc::ok);
  const uint64_t before = bed.shard(0).counters().requests + bed.shard(1).counters().requests;
  std::string frames;
  for (uint64_t i = 0; i < 40; ++i) {
    frames +=
        wire::request_frame(Op::MutateRow, i + 10, wire::set_body("t", "a", "f", "q", "v", 1000));
  }
  peer.send(frames);
  uint64_t most = 0;
  for (int step = 0; step < 200; ++step) {
    bed.world().run_for_us(10);
    const uint64_t begun =
        bed.shard(0).counters().requests + bed.shard(1).counters().requests - before;
    const uint64_t answered = peer.received.size();
    most = std::max(most, begun - std::min(begun, answered));
  }
  // Answers are in transit for a while, so a few more than four may look unanswered from here.
  EXPECT_GE(most, 4u);
  EXPECT_LE(most, 40u);
  for (uint64_t i = 0; i < 40; ++i) ASSERT_TRUE(peer.answer(i + 10)) << i;
}

TEST(Limits, TheLastConnectionThatFitsIsServedAndTheNextIsNot) {
  ServerOptions options;
  options.net.connections = 1;
  ServerBed bed(1, options);
  Peer first(bed);
  Peer second(bed, false);
  EXPECT_TRUE(second.closes());
  EXPECT_EQ(first.code_of(Op::Ping, ""), Errc::ok);
}

}  // namespace
}  // namespace cellar::server
