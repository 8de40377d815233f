// A write whose tablet is being reshaped waits, and so do the later requests of its connection; its
// streams continue.
#include <gtest/gtest.h>

#include "tests/net/server/server_bed.h"

namespace cellar::server {
namespace {

namespace fb = wire::fb;
using fb::Op;
using wire::FrameKind;

class HeldWrite : public testing::Test {
 protected:
  static constexpr int64_t kDiskUs = 200'000;  // slow enough for a reshape to be observed

  HeldWrite() {
    for (const char* table : {"held", "other"}) {
      CHECK(peer.code_of(Op::CreateTable, wire::create_table_body(table, {"f"})) == Errc::ok);
    }
    const std::string value(40 * 1024, 'v');
    for (int i = 0; i < 30; ++i) {
      CHECK(peer.code_of(Op::MutateRow, wire::set_body("other", fmt::format("r{:02}", i), "f", "q",
                                                       value, 1000)) == Errc::ok);
    }
  }
  const engine::TabletDescriptor& tablet() {
    return bed.shard(0).tables().find("held")->locate("k");
  }
  // A stream with the id 5 that waits for credit.
  void begin_stream() {
    peer.send(wire::request_frame(Op::ReadRows, 5, wire::read_rows_body("other", {.credits = 1})));
    bed.world().run_for_us(2'000'000);
    CHECK(chunks() == 1, "{} chunks for one credit", chunks());
  }
  void hold() {
    other.send(wire::request_frame(Op::SplitTablet, 9, wire::split_body(tablet().id.value(), "g")));
    CHECK(bed.world().run_until([&] { return tablet().held; }, 10'000'000), "it is not held");
  }
  std::string write_frame(uint64_t id, std::string_view value) {
    return wire::request_frame(Op::MutateRow, id,
                               wire::set_body("held", "k", "f", "q", value, 1000));
  }
  size_t chunks() {
    return static_cast<size_t>(std::ranges::count_if(
        peer.received, [](const Answer& a) { return a.header.kind == FrameKind::chunk; }));
  }
  bool answered(uint64_t id) {
    return std::ranges::any_of(peer.received, [&](const Answer& a) {
      return a.header.request_id == id && a.header.kind != FrameKind::chunk;
    });
  }
  void run_while_held(int64_t us) {
    bed.world().run_until([&] { return !tablet().held; }, us);
    ASSERT_TRUE(tablet().held) << "the reshape ended too early for this test";
  }

  ServerBed bed{1, ServerOptions(), 1, kDiskUs};
  Peer peer{bed};
  Peer other{bed};
};

TEST_F(HeldWrite, CreditsBehindItFeedTheirStream) {
  begin_stream();
  hold();
  peer.send(write_frame(6, "first"));
  run_while_held(10'000);
  peer.send(write_frame(7, "second") + wire::credit_frame(5, 2));
  run_while_held(20'000);
  EXPECT_EQ(chunks(), 3u);
  EXPECT_FALSE(answered(6) || answered(7));
  peer.send(wire::credit_frame(5, 60));
  auto end = peer.answer(5);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code(), Errc::ok);
  EXPECT_EQ(peer.answer(6)->code(), Errc::ok);
  EXPECT_EQ(peer.answer(7)->code(), Errc::ok);
  EXPECT_EQ(read_all(peer, "held"), std::vector<std::string>{"k f:q@1000=second"})
      << "in the order sent";
}

TEST_F(HeldWrite, ACancelBehindItEndsItsStream) {
  begin_stream();
  hold();
  peer.send(write_frame(6, "v") + wire::request_frame(Op::ReadRows, 5, "", FrameKind::cancel));
  run_while_held(20'000);
  EXPECT_TRUE(answered(5));
  EXPECT_FALSE(answered(6));
  EXPECT_EQ(peer.answer(5)->code(), Errc::cancelled);
  EXPECT_EQ(peer.answer(6)->code(), Errc::ok);
}

// A cancel of a request that has not begun is not lost.
TEST_F(HeldWrite, ACancelOfARequestBehindItComesInItsOrder) {
  hold();
  peer.send(write_frame(6, "v") +
            wire::request_frame(Op::ReadRows, 7, wire::read_rows_body("other", {.credits = 1})) +
            wire::request_frame(Op::ReadRows, 7, "", FrameKind::cancel));
  run_while_held(20'000);
  EXPECT_EQ(peer.answer(6)->code(), Errc::ok);
  auto cancelled = peer.answer(7);
  ASSERT_TRUE(cancelled);
  EXPECT_EQ(cancelled->code(), Errc::cancelled);
}

TEST_F(HeldWrite, MoreThanMayBeReadBehindItWaitsAndKeepsItsOrder) {
  hold();
  std::string frames;
  for (uint64_t i = 0; i < 60; ++i)
    frames += write_frame(10 + i, std::string(10'000, 'a' + i % 26));
  frames += write_frame(100, "last");
  peer.send(frames);
  run_while_held(20'000);
  EXPECT_LE(bed.shard(0).memory().requests(), 100u * 1024);
  EXPECT_EQ(peer.answer(100)->code(), Errc::ok);
  for (uint64_t i = 0; i < 60; ++i) EXPECT_EQ(peer.answer(10 + i)->code(), Errc::ok) << i;
  EXPECT_EQ(read_all(peer, "held"), std::vector<std::string>{"k f:q@1000=last"});
}

TEST_F(HeldWrite, APeerThatLeavesMeanwhileLeavesNothingBehind) {
  hold();
  {
    Peer leaves(bed);
    leaves.send(write_frame(6, "v") + wire::credit_frame(5, 1));
    run_while_held(20'000);
  }
  bed.world().run_for_us(20'000'000);
  EXPECT_EQ(bed.shard(0).admission().connections(), 2u);
  EXPECT_EQ(bed.shard(0).memory().requests(), 0u);
}

}  // namespace
}  // namespace cellar::server
