// The token memory of a shard: what it holds and drops, and the length of a changed window.
#include "engine/write/token_memory.h"

#include <gtest/gtest.h>

#include "tests/engine/write/token_bed.h"
#include "tests/support/durations.h"

namespace cellar::engine {
namespace {

TEST(TokenMemory, ForgetsNothingBeforeItsEnd) {
  TokenMemory memory({.window_us = 160}, 1000 * kTokenBytes);
  for (int64_t until = 0; until < 400; ++until) memory.note(static_cast<uint64_t>(until), until);
  EXPECT_EQ(memory.tokens(), 400u);
  for (int64_t now = 0; now < 400; ++now) {
    ASSERT_TRUE(memory.make_room(now));
    for (int64_t until = now; until < 400; ++until) {
      ASSERT_TRUE(memory.may_hold(static_cast<uint64_t>(until))) << until << " at " << now;
    }
    // And not much longer: by a sixteenth of the window.
    if (now > 10) ASSERT_FALSE(memory.may_hold(static_cast<uint64_t>(now - 11)));
  }
  ASSERT_TRUE(memory.make_room(500));
  EXPECT_EQ(memory.tokens(), 0u);
}

TEST(TokenMemory, ATokenThatCameAgainIsKnownUntilItsLaterEnd) {
  TokenMemory memory({.window_us = 160}, 1000 * kTokenBytes);
  memory.note(7, 100);
  memory.note(7, 300);
  ASSERT_TRUE(memory.make_room(200));
  EXPECT_TRUE(memory.may_hold(7));
  ASSERT_TRUE(memory.make_room(400));
  EXPECT_FALSE(memory.may_hold(7));
}

TEST(TokenMemory, SaysWhenThereIsRoomAgain) {
  TokenMemory memory({.window_us = 160 * kSecondUs}, 2 * kTokenBytes);
  memory.note(1, 155 * kSecondUs);
  EXPECT_TRUE(memory.make_room(0));
  memory.note(2, 165 * kSecondUs);
  const auto full = memory.make_room(154 * kSecondUs);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Errc::resource_exhausted);
  const int64_t then_us = 154 * kSecondUs + full.error().retry_after_ms * int64_t{1000};
  EXPECT_TRUE(memory.make_room(then_us));
  EXPECT_EQ(memory.tokens(), 1u);
}

TEST(TokenWindow, ThatIsRaisedCountsForWhatIsIssuedAfterwards) {
  const int64_t now = 1'000'000 * kSecondUs;
  TokenWindow window = next_window({}, 60 * kSecondUs, now);
  EXPECT_EQ(window.for_issue(now - 5), 60 * kSecondUs) << "the first start";
  const TokenWindow raised = next_window(window, 900 * kSecondUs, now);
  EXPECT_EQ(raised.for_issue(now + kTokenAheadUs), 60 * kSecondUs);
  EXPECT_EQ(raised.for_issue(now + kTokenAheadUs + 1), 900 * kSecondUs);
  EXPECT_EQ(next_window(raised, 900 * kSecondUs, now + 5), raised) << "another start";
  const TokenWindow lowered = next_window(raised, 30 * kSecondUs, now + 5);
  EXPECT_EQ(lowered.for_issue(now), 30 * kSecondUs);
  EXPECT_EQ(lowered.for_issue(now + kTokenAheadUs + 1), 30 * kSecondUs);
  // Raised again at once: the tokens issued first are still bound by the smallest window.
  const TokenWindow again = next_window(raised, 2000 * kSecondUs, now + 100 * kSecondUs);
  EXPECT_EQ(again.for_issue(now), 60 * kSecondUs);
  // Once none of those can matter, the window in force since then counts.
  const TokenWindow later = next_window(raised, 2000 * kSecondUs, now + 2000 * kSecondUs);
  EXPECT_EQ(later.for_issue(now + 1500 * kSecondUs), 900 * kSecondUs);
}

}  // namespace
}  // namespace cellar::engine

namespace cellar::support {
namespace {

TEST(TokenWindowOfANode, RaisedByAStartItRefusesWhatItMayHaveForgotten) {
  TestNodeOptions options;
  options.engine.token_window_us = 60'000'000;
  TokenBed before(options);
  ASSERT_TRUE(before.node.create_table("t", {"f"}));
  TokenAsk first = increment("a");
  first.issued_us = before.now_us();
  EXPECT_EQ(before.ask(first), "OK 1");
  options.start_wall_us = before.now_us() + 10'000'000;
  options.engine.token_window_us = 900'000'000;
  TokenBed after(options, before.node.crash_image(CrashPolicy::none));
  ASSERT_TRUE(after.node.is_open());
  EXPECT_EQ(after.ask(first), "OK 1 again");
  ASSERT_TRUE(after.node.close());
  ASSERT_TRUE(after.node.reopen());
  after.node.world().clock().advance_us(100'000'000);
  EXPECT_EQ(after.ask(first), "FAILED_PRECONDITION maybe");
  TokenAsk second = increment("b");
  second.issued_us = after.now_us();
  EXPECT_EQ(after.ask(second), "OK 2");
  ASSERT_TRUE(after.node.create_table("u", {"f"})) << "the catalog goes on from the same state";
  ASSERT_TRUE(after.node.close());
  ASSERT_TRUE(after.node.reopen());
  after.node.world().clock().advance_us(800'000'000);
  EXPECT_EQ(after.ask(second), "OK 2 again");
}

}  // namespace
}  // namespace cellar::support
