// ConfirmTime on the wire.
#include <gtest/gtest.h>

#include "tests/net/server/server_bed.h"

namespace cellar::server {
namespace {

namespace fb = wire::fb;
using fb::Op;

std::string confirm_body(bool release, int64_t max_held_us) {
  flatbuffers::FlatBufferBuilder builder;
  return std::string(
      wire::finish_body(builder, fb::CreateConfirmTimeRequest(builder, release, max_held_us)));
}

TEST(ConfirmTime, TellsHowTimeStandsAndChangesNothingWhereNothingIsHeld) {
  ServerBed bed;
  Peer peer(bed);
  for (const std::string& body : {std::string(), confirm_body(false, 0), confirm_body(true, 0),
                                  confirm_body(true, INT64_MIN), confirm_body(true, INT64_MAX)}) {
    auto answer = peer.ask(Op::ConfirmTime, body);
    ASSERT_TRUE(answer);
    ASSERT_FALSE(answer->error()) << answer->message();
    const auto* clock = answer->root<fb::ClockReply>();
    ASSERT_NE(clock, nullptr);
    EXPECT_EQ(clock->held_us(), 0);
    EXPECT_GT(clock->trusted_us(), 0);
    EXPECT_LE(clock->trusted_us(), clock->wall_us());
    EXPECT_TRUE(clock->synchronised());
    EXPECT_EQ(clock->release_after_us(), 86'400'000'000);
  }
}

TEST(ConfirmTime, ABodyOfAnotherKindIsRefused) {
  ServerBed bed;
  Peer peer(bed);
  EXPECT_EQ(peer.code_of(Op::ConfirmTime, wire::flush_body("t")), Errc::invalid_argument);
}

}  // namespace
}  // namespace cellar::server
