// DropRowRange with a token over a connection: its two steps, in order with the other requests;
// repetitions, refusals, and failures of the second step.
#include <gtest/gtest.h>

#include "tests/net/server/server_bed.h"

namespace cellar::server {
namespace {

namespace fb = wire::fb;
using fb::Op;
using Cells = std::vector<std::string>;

class DropToken : public testing::Test {
 protected:
  DropToken() {
    const std::string body = wire::create_table_body("t", {"f"}, {"h", "m", "s"});
    EXPECT_EQ(peer.code_of(Op::CreateTable, body), Errc::ok);
  }
  int64_t now_us() { return bed.shard(0).clock().now_us(); }
  static std::string set_body(std::string_view row, std::string_view value) {
    return wire::set_body("t", row, "f", "q", value, 1000);
  }
  void set(std::string_view row, std::string_view value) {
    EXPECT_EQ(peer.code_of(Op::MutateRow, set_body(row, value)), Errc::ok);
  }
  Cells rows() {
    Cells text;
    for (const std::string& cell : read_all(peer, "t")) {
      text.push_back(cell.substr(0, 1) + cell.substr(cell.find('=')));
    }
    return text;
  }
  // "ok TABLETS", or the status, and whether it may be applied.
  static std::string text(std::optional<Answer> answer) {
    if (!answer) return "closed";
    if (!answer->error()) {
      return fmt::format("ok {}", answer->root<fb::DropRowRangeReply>()->tablets());
    }
    const bool maybe = answer->root<fb::Status>()->applied() == fb::Applied::MaybeApplied;
    return std::string(errc_name(answer->code())) + (maybe ? " maybe" : "");
  }
  std::string drop(std::string_view start, std::string_view end, std::string_view token = "once") {
    return text(
        peer.ask(Op::DropRowRange, wire::drop_range_body("t", start, end, token, issued_us)));
  }

  ServerBed bed{3};
  Peer peer{bed, true, wire::hello_as("me")};
  int64_t issued_us = now_us();
};

TEST_F(DropToken, ARepetitionDeletesNothingThatWasWrittenInBetween) {
  for (const char* row : {"a", "i", "n", "t"}) set(row, "old");
  EXPECT_EQ(drop("a", "z"), "ok 4");
  EXPECT_EQ(rows(), Cells());
  for (const char* row : {"a", "i", "n", "t"}) set(row, "new");
  EXPECT_EQ(drop("a", "z"), "ok 4");
  EXPECT_EQ(rows(), (Cells{"a=new", "i=new", "n=new", "t=new"}));
  EXPECT_EQ(drop("a", "z", "again"), "ok 4");
  EXPECT_EQ(rows(), Cells());
}

TEST_F(DropToken, AnotherRangeIsRefusedBeforeAnythingOfItIsDeleted) {
  for (const char* row : {"a", "i", "n", "t"}) set(row, "old");
  EXPECT_EQ(drop("t", "u"), "ok 1");
  EXPECT_EQ(drop("i", "j"), "INVALID_ARGUMENT");
  EXPECT_EQ(drop("a", "b"), "INVALID_ARGUMENT");
  EXPECT_EQ(drop("a", "z"), "INVALID_ARGUMENT");
  EXPECT_EQ(rows(), (Cells{"a=old", "i=old", "n=old"}));
  set("t", "new");
  EXPECT_EQ(text(peer.ask(Op::DropRowRange, wire::drop_rows_body("t", "t", "once", issued_us))),
            "ok 1")
      << "a prefix is the range that it stands for";
  EXPECT_EQ(rows(), (Cells{"a=old", "i=old", "n=old", "t=new"}));
  EXPECT_EQ(drop("i", "i"), "ok 0") << "no rows";
  Peer other(bed, true, wire::hello_as("you"));
  EXPECT_EQ(
      text(other.ask(Op::DropRowRange, wire::drop_range_body("t", "a", "z", "once", issued_us))),
      "ok 4");
  EXPECT_EQ(rows(), Cells());
}

TEST_F(DropToken, KeepsItsPlaceInTheOrder) {
  for (const char* row : {"a", "i", "n", "t"}) set(row, "old");
  std::string frames = wire::request_frame(Op::DropRowRange, 5,
                                           wire::drop_range_body("t", "a", "z", "once", issued_us));
  uint64_t id = 6;
  for (const char* row : {"a", "i", "n", "t"}) {
    frames += wire::request_frame(Op::MutateRow, id++, set_body(row, "new"));
  }
  frames += wire::request_frame(Op::DropRowRange, id++,
                                wire::drop_range_body("t", "n", "o", "twice", issued_us));
  frames += wire::request_frame(Op::DropRowRange, id++,
                                wire::drop_range_body("t", "a", "z", "once", issued_us));
  peer.send(frames);
  for (uint64_t one = 5; one < id; ++one) {
    auto answer = peer.answer(one);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->code(), Errc::ok) << answer->message();
  }
  EXPECT_EQ(rows(), (Cells{"a=new", "i=new", "t=new"}));
}

TEST_F(DropToken, WithoutAClientOrIssuedTooLongAgoItIsRefused) {
  set("t", "old");
  Peer nobody(bed);
  EXPECT_EQ(text(nobody.ask(Op::DropRowRange, wire::drop_rows_body("t", "t", "x", issued_us))),
            "INVALID_ARGUMENT");
  issued_us -= 901'000'000;
  EXPECT_EQ(drop("t", "u"), "FAILED_PRECONDITION maybe");
  EXPECT_EQ(rows(), Cells{"t=old"});
}

// Its deadline passes between the two steps, and the connection is closed: the repetition deletes
// the remaining rows, and only those.
TEST_F(DropToken, WhatEndsAfterItsFirstStepIsInDoubtAndCanBeRepeated) {
  ServerBed slow(3, ServerOptions(), 1, 20'000);
  Peer one(slow, true, wire::hello_as("me"));
  ASSERT_EQ(one.code_of(Op::CreateTable, wire::create_table_body("t", {"f"}, {"h"})), Errc::ok);
  const int64_t issued = slow.shard(0).clock().now_us();
  const std::string body = wire::drop_range_body("t", "a", "z", "once", issued);
  for (const char* row : {"a", "i"}) {
    ASSERT_EQ(one.code_of(Op::MutateRow, set_body(row, "old")), Errc::ok);
  }
  one.send(wire::request_frame(Op::DropRowRange, 5, body, wire::FrameKind::request, 5));
  EXPECT_EQ(text(one.answer(5)), "DEADLINE_EXCEEDED maybe");
  slow.world().run_for_us(500'000);
  EXPECT_EQ(read_all(one, "t"), Cells{"i f:q@1000=old"});
  ASSERT_EQ(one.code_of(Op::MutateRow, set_body("a", "new")), Errc::ok);
  {
    Peer gone(slow, true, wire::hello_as("me"));
    gone.send(wire::request_frame(Op::DropRowRange, 5, body));
    slow.world().run_for_us(1'000);
  }
  slow.world().run_for_us(500'000);
  EXPECT_EQ(text(one.ask(Op::DropRowRange, body)), "ok 2");
  EXPECT_EQ(read_all(one, "t"), Cells{"a f:q@1000=new"});
}

// The table is dropped between the two steps, and another of the same name exists at the second.
TEST_F(DropToken, ATableThatIsMadeAnewMeanwhileKeepsItsRows) {
  size_t between = 0;
  for (int64_t delay_us = 0; delay_us <= 100'000; delay_us += 4'000) {
    SCOPED_TRACE(delay_us);
    ServerBed slow(2, ServerOptions(), 1, 20'000);
    Peer one(slow, true, wire::hello_as("me"));
    Peer two(slow);
    const std::string create = wire::create_table_body("t", {"f"}, {"h"});
    ASSERT_EQ(two.code_of(Op::CreateTable, create), Errc::ok);
    ASSERT_EQ(two.code_of(Op::MutateRow, set_body("i", "old")), Errc::ok);
    const int64_t issued = slow.shard(0).clock().now_us();
    two.send(
        wire::request_frame(Op::DropTable, 5, wire::table_body("t", fb::CreateDropTableRequest)));
    slow.world().run_for_us(delay_us);
    one.send(wire::request_frame(Op::DropRowRange, 5,
                                 wire::drop_range_body("t", "a", "z", "once", issued)));
    slow.world().run_for_us(1'000);
    ASSERT_EQ(two.answer(5)->code(), Errc::ok);
    ASSERT_EQ(two.code_of(Op::CreateTable, create), Errc::ok);
    ASSERT_EQ(two.code_of(Op::MutateRow, set_body("i", "new")), Errc::ok);
    const std::string said = text(one.answer(5));
    between += said == "NOT_FOUND maybe" ? 1 : 0;
    slow.world().run_for_us(500'000);
    EXPECT_EQ(read_all(two, "t"), Cells{"i f:q@1000=new"}) << said;
  }
  EXPECT_GT(between, 0u);
}

}  // namespace
}  // namespace cellar::server
