// Deadlines of writes, and request ids in use.
#include <gtest/gtest.h>

#include "tests/net/server/server_bed.h"

namespace cellar::server {
namespace {

namespace fb = wire::fb;
using fb::Op;
using wire::FrameKind;

constexpr int64_t kSecondUs = 1'000'000;

std::string put_frame(uint64_t id, std::string_view row, uint32_t deadline_ms) {
  return wire::request_frame(Op::MutateRow, id, wire::set_body("t", row, "f", "q", "v", 1000),
                             FrameKind::request, deadline_ms);
}

fb::Applied applied_of(Answer& answer) { return answer.root<fb::Status>()->applied(); }

// Lets a second pass after a request was handed to another shard and before that shard reads it.
class SlowHandOver final : public LoopHook {
 public:
  SlowHandOver(ServerBed& bed, uint32_t home) : bed_(bed), home_(home) {
    bed_.loop(home_).add_hook(*this);
    seen_ = bed_.shard(home_).counters().handed_over;
  }
  ~SlowHandOver() override { bed_.loop(home_).remove_hook(*this); }
  bool on_turn() override {
    const uint64_t now = bed_.shard(home_).counters().handed_over;
    if (now == seen_) return false;
    seen_ = now;
    bed_.world().clock().advance_us(kSecondUs);
    return true;
  }

 private:
  ServerBed& bed_;
  uint32_t home_;
  uint64_t seen_ = 0;
};

TEST(Deadline, AWriteThatReachesItsShardTooLateIsNotApplied) {
  ServerBed bed;
  Peer peer(bed);
  ASSERT_EQ(peer.code_of(Op::CreateTable, wire::create_table_body("t", {"f"}, {"m"})), Errc::ok);
  uint64_t handed_over = 0;
  {
    const SlowHandOver first(bed, 0);
    const SlowHandOver second(bed, 1);
    for (const std::string_view row : {"a", "z"}) {
      const uint64_t id = row == "a" ? 5 : 6;
      peer.send(put_frame(id, row, 500));
      auto answer = peer.answer(id);
      ASSERT_TRUE(answer);
      handed_over += answer->code() == Errc::deadline_exceeded;
    }
  }
  ASSERT_EQ(handed_over, 1u) << "one of the rows is on the connection's shard";
  bed.world().run_for_us(kSecondUs);
  EXPECT_EQ(read_all(peer, "t").size(), 1u) << "what was too late is there";
}

TEST(Deadline, AWriteThatIsNotDurableInTimeIsAnsweredMaybeApplied) {
  ServerBed bed(2, ServerOptions(), 1, 200'000);
  Peer peer(bed);
  ASSERT_EQ(peer.code_of(Op::CreateTable, wire::create_table_body("t", {"f"}, {"m"})), Errc::ok);
  for (const std::string_view row : {"a", "z"}) {
    const uint64_t id = row == "a" ? 5 : 6;
    const int64_t began_us = bed.world().now_us();
    peer.send(put_frame(id, row, 50));
    auto answer = peer.answer(id);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->code(), Errc::deadline_exceeded);
    EXPECT_EQ(applied_of(*answer), fb::Applied::MaybeApplied);
    EXPECT_LT(bed.world().now_us() - began_us, 60'000) << row;
  }
  bed.world().run_for_us(kSecondUs);
  EXPECT_EQ(read_all(peer, "t").size(), 2u);
  // The connection stays usable.
  EXPECT_EQ(peer.code_of(Op::MutateRow, wire::set_body("t", "a", "f", "q", "w", 2000)), Errc::ok);
}

TEST(Deadline, AClientThatLeavesBeforeItsWriteIsDurableDisturbsNobody) {
  ServerBed bed(2, ServerOptions(), 1, 200'000);
  Peer peer(bed);
  ASSERT_EQ(peer.code_of(Op::CreateTable, wire::create_table_body("t", {"f"}, {"m"})), Errc::ok);
  {
    Peer leaves(bed);
    leaves.send(put_frame(5, "a", 50) + put_frame(6, "z", 50));
    ASSERT_TRUE(leaves.answer(5));
    ASSERT_TRUE(leaves.answer(6));
  }
  bed.world().run_for_us(kSecondUs);
  EXPECT_EQ(read_all(peer, "t").size(), 2u);
}

// For an id in use see abuse_test.cc.
TEST(RequestId, IsFreeAgainAfterTheAnswer) {
  ServerBed bed;
  Peer peer(bed);
  ASSERT_EQ(peer.code_of(Op::CreateTable, wire::create_table_body("t", {"f"})), Errc::ok);
  for (const char* row : {"first", "second"}) {
    peer.send(put_frame(5, row, 0));
    auto done = peer.answer(5);
    ASSERT_TRUE(done);
    EXPECT_EQ(done->code(), Errc::ok);
  }
}

}  // namespace
}  // namespace cellar::server
