// Idempotency tokens (SEMANTICS 2): a repetition is recognised wherever its row has moved, gets the
// answer of the first attempt, for as long as promised; no other operation sees a token.
#include <gtest/gtest.h>

#include "engine/write/token_memory.h"
#include "io/sim/faulty_fs.h"
#include "tests/engine/node/alter_bed.h"
#include "tests/engine/write/token_bed.h"
#include "tests/support/durations.h"

namespace cellar::support {
namespace {

constexpr int64_t kWindow = 900 * kSecondUs;

class Tokens : public testing::Test, protected TokenBed {
 protected:
  explicit Tokens(TestNodeOptions options = options_of()) : TokenBed(std::move(options)) {
    EXPECT_TRUE(node.create_table("t", {"f", "g"}));
  }
  static TestNodeOptions options_of() {
    TestNodeOptions options;
    options.shards = 2;
    options.max_latency_us = 300;
    return options;
  }
  TabletId tablet_of(const std::string& row) { return node.table("t")->locate(row).id; }
};

TEST_F(Tokens, ARepetitionGetsTheFirstAnswerAndIsNotApplied) {
  EXPECT_EQ(ask(increment("a", 5)), "OK 5");
  EXPECT_EQ(ask(increment("b", 2)), "OK 7");
  EXPECT_EQ(ask(increment("a", 5)), "OK 5 again");
  EXPECT_EQ(count(), 7);

  EXPECT_EQ(ask(put("c", counter_bytes(1))), "OK");
  EXPECT_EQ(ask(increment("d")), "OK 2");
  EXPECT_EQ(ask(put("c", counter_bytes(1))), "OK again");
  EXPECT_EQ(count(), 2);
}

TEST_F(Tokens, TheBranchIsRememberedThoughItChangedNothing) {
  TokenAsk create;
  create.token = "create";
  create.else_ops.push_back(set_cell("f:c", kServerStamped, counter_bytes(1)));
  EXPECT_EQ(ask(create), "else");
  EXPECT_EQ(ask(create), "else again");
  create.token = "again";
  EXPECT_EQ(ask(create), "then") << "the row is there now; nothing to do";
  ASSERT_TRUE(node.write("t", "r", {delete_row()}));
  EXPECT_EQ(ask(create), "then again");
  EXPECT_EQ(count(), std::nullopt);
}

TEST_F(Tokens, OtherContentUnderTheTokenIsRefused) {
  EXPECT_EQ(ask(increment("a", 5)), "OK 5");
  EXPECT_EQ(ask(increment("a", 6)), "INVALID_ARGUMENT");
  EXPECT_EQ(ask(put("a", "v")), "INVALID_ARGUMENT");
  TokenAsk append = increment("a");
  append.append = "x";
  EXPECT_EQ(ask(append), "INVALID_ARGUMENT");
  EXPECT_EQ(ask(increment("a", 5)), "OK 5 again");
  EXPECT_EQ(count(), 5);
}

TEST_F(Tokens, ATokenIsItsClientsAndItsRowsAndItsTables) {
  EXPECT_EQ(ask(increment("a")), "OK 1");
  TokenAsk other = increment("a");
  other.client = "you";
  EXPECT_EQ(ask(other), "OK 2");
  // Client and token are separate fields.
  other.client = "m";
  other.token = "ea";
  EXPECT_EQ(ask(other), "OK 3");
  other = increment("a");
  other.row = "r2";
  EXPECT_EQ(ask(other), "OK 1");
  EXPECT_EQ(ask(increment("a")), "OK 1 again");
  ASSERT_TRUE(node.drop_table("t"));
  ASSERT_TRUE(node.create_table("t", {"f"}));
  EXPECT_EQ(ask(increment("a")), "OK 1") << "another table, if by the same name";
}

// The schema may no longer accept the write at the time of its repetition.
TEST_F(Tokens, ARepetitionIsAnsweredWhateverTheSchemaSaysByThen) {
  TokenAsk both = put("a", "v");
  both.set.push_back(set_cell("g:q", 1000, "w"));
  TokenAsk check;
  check.token = "check";
  check.then_ops.push_back(set_cell("g:q", 2000, "x"));
  EXPECT_EQ(ask(both), "OK");
  EXPECT_EQ(ask(check), "then");
  EXPECT_EQ(ask(increment("b", 1)), "FAILED_PRECONDITION") << "a value of 1 byte";
  EXPECT_EQ(ask(put("c", counter_bytes(4))), "OK");
  EXPECT_EQ(ask(increment("d", 1)), "OK 5");
  ASSERT_TRUE(node.alter_table(dropping({"g"})));
  for (const bool on_disk : {false, true}) {
    SCOPED_TRACE(on_disk);
    EXPECT_EQ(ask(both), "OK again");
    EXPECT_EQ(ask(check), "then again");
    TokenAsk other = both;
    other.token = on_disk ? "other" : "another";
    EXPECT_EQ(ask(other), "NOT_FOUND");
    if (!on_disk) cold();
  }
  ASSERT_TRUE(node.alter_table(adding({"h"})));
  ASSERT_TRUE(node.alter_table(dropping({"f"})));
  EXPECT_EQ(ask(increment("d", 1)), "OK 5 again");
  EXPECT_EQ(ask(increment("e", 1)), "NOT_FOUND");
}

TEST_F(Tokens, WhatIsRefusedIsNotRemembered) {
  ASSERT_TRUE(node.set("t", "r", "f:c", kServerStamped, "no number"));
  EXPECT_EQ(ask(increment("a")), "FAILED_PRECONDITION");
  ASSERT_TRUE(node.write("t", "r", {delete_row()}));
  EXPECT_EQ(ask(increment("a")), "OK 1");
  TokenAsk nowhere = put("b", "v");
  nowhere.set[0].family = "none";
  EXPECT_EQ(ask(nowhere), "NOT_FOUND");
  EXPECT_EQ(ask(put("b", "v")), "OK");
}

TEST_F(Tokens, FormIsJudgedFirst) {
  EXPECT_EQ(ask(increment(std::string(64, 't'))), "OK 1");
  EXPECT_EQ(ask(increment(std::string(65, 't'))), "INVALID_ARGUMENT");
  TokenAsk nobody = increment("a");
  nobody.client = "";
  EXPECT_EQ(ask(nobody), "INVALID_ARGUMENT");
  EXPECT_EQ(count(), 1);
}

// ---- where the tokens of a row move

TEST_F(Tokens, NoDeleteTakesATokenAway) {
  EXPECT_EQ(ask(increment("a", 5)), "OK 5");
  const auto repeated = [&](const char* after) {
    SCOPED_TRACE(after);
    for (const char* where : {"in memory", "in a table", "merged", "after a start"}) {
      EXPECT_EQ(ask(increment("a", 5)), "OK 5 again") << where;
      EXPECT_TRUE(node.cells("t").empty()) << where;
      if (std::string(where) == "in memory") ASSERT_TRUE(node.flush("t"));
      if (std::string(where) == "in a table") ASSERT_TRUE(node.compact("t"));
      if (std::string(where) == "merged") cold();
    }
  };
  ASSERT_TRUE(node.write("t", "r", {delete_row()}));
  repeated("a delete of the row");
  ASSERT_TRUE(node.drop_rows("t", "a", "z"));
  repeated("a delete of the range");
  ASSERT_TRUE(node.write("t", "r", {delete_family("f")}));
  repeated("a delete of the family");
  engine::TableChange drop;
  drop.name = "t";
  drop.drop.push_back("f");
  ASSERT_TRUE(node.alter_table(drop));
  engine::TableChange add;
  add.name = "t";
  add.add.push_back({"f"});
  ASSERT_TRUE(node.alter_table(add));
  repeated("a family dropped and made again");
}

TEST_F(Tokens, FollowTheirRowThroughSplitsMergesAndMoves) {
  for (const char* row : {"b", "m", "x"}) {
    TokenAsk first = increment("a");
    first.row = row;
    EXPECT_EQ(ask(first), "OK 1");
  }
  const auto repeated = [&](const char* after) {
    SCOPED_TRACE(after);
    for (const char* row : {"b", "m", "x"}) {
      TokenAsk again = increment("a");
      again.row = row;
      EXPECT_EQ(ask(again), "OK 1 again") << row;
      EXPECT_EQ(count(row), 1) << row;
    }
  };
  auto parts = node.split(tablet_of("b"), "m");
  ASSERT_TRUE(parts) << parts.error().to_string();
  repeated("a split");
  ASSERT_TRUE(node.move(tablet_of("x"), 1));
  repeated("a move");
  ASSERT_TRUE(node.compact("t"));
  repeated("a compaction");
  ASSERT_TRUE(node.merge(tablet_of("b"), tablet_of("x")));
  repeated("a merge");
  cold();
  repeated("a start");
  node.kill();
  ASSERT_TRUE(node.reopen(1));
  repeated("a start with one shard");
}

TEST_F(Tokens, AreInvisible) {
  TokenAsk nothing;  // commits only its token
  nothing.token = "a";
  nothing.then_ops.push_back(set_cell("f:c", kServerStamped, "v"));
  EXPECT_EQ(ask(nothing), "else");
  for (const char* where : {"in memory", "on disk"}) {
    SCOPED_TRACE(where);
    EXPECT_TRUE(node.cells("t").empty());
    ReadSpec reversed;
    reversed.rows = RowSet::everything();
    reversed.reversed = true;
    EXPECT_TRUE(node.read("t", reversed)->empty());
    nothing.token = std::string("exists ") + where;
    EXPECT_EQ(ask(nothing), "else") << "a row of tokens does not exist";
    ASSERT_TRUE(node.flush("t"));
  }
  // Between rows with cells, and after the cells of a row.
  for (const char* row : {"q", "r", "s"}) {
    TokenAsk one = put("z", "v");
    one.row = row;
    EXPECT_EQ(ask(one), "OK");
    ASSERT_TRUE(node.set("t", row, "g:d", 1, "w"));
  }
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ask(put(fmt::format("{}", i), "v")).substr(0, 2), "OK");
  EXPECT_EQ(node.cells("t").size(), 26u);
  ReadSpec reversed;
  reversed.rows = RowSet::everything();
  reversed.reversed = true;
  EXPECT_EQ(node.read("t", reversed)->size(), 26u);
  ASSERT_TRUE(node.compact("t"));
  EXPECT_EQ(node.cells("t").size(), 26u);
}

// ---- time

TEST_F(Tokens, CountUpToTheEndOfTheirWindowAndNoFurther) {
  const int64_t start_us = now_us();
  TokenAsk first = increment("a");
  first.issued_us = start_us;
  EXPECT_EQ(ask(first), "OK 1");
  node.world().clock().advance_us(start_us + kWindow - now_us());
  EXPECT_EQ(ask(first), "OK 1 again") << "at the bound";
  TokenAsk late = increment("late");
  late.issued_us = now_us() - kWindow - 1;
  EXPECT_EQ(ask(late), "FAILED_PRECONDITION maybe");
  late.issued_us = now_us() - kWindow;
  EXPECT_EQ(ask(late), "OK 2");
  EXPECT_EQ(ask(first), "FAILED_PRECONDITION maybe");
  cold();
  EXPECT_EQ(ask(first), "FAILED_PRECONDITION maybe");
  EXPECT_EQ(count(), 2);
  EXPECT_EQ(ask(increment("a")), "OK 3") << "its name is free again";
}

TEST_F(Tokens, IssuedAheadOfTheNodesTimeAreAcceptedWithinABound) {
  TokenAsk ahead = increment("a");
  ahead.issued_us = now_us() + engine::kTokenAheadUs;
  EXPECT_EQ(ask(ahead), "OK 1");
  ahead.token = "b";
  ahead.issued_us = now_us() + engine::kTokenAheadUs + 1;
  EXPECT_EQ(ask(ahead), "INVALID_ARGUMENT");
  ahead.issued_us = INT64_MAX;
  EXPECT_EQ(ask(ahead), "INVALID_ARGUMENT");
  ahead.issued_us = INT64_MIN;
  EXPECT_EQ(ask(ahead), "FAILED_PRECONDITION maybe");
  EXPECT_EQ(count(), 1);
}

TEST_F(Tokens, AnotherMomentOfIssueDoesNotMakeAnotherToken) {
  EXPECT_EQ(ask(increment("a")), "OK 1");
  cold();
  node.world().clock().advance_us(100 * kSecondUs);
  EXPECT_EQ(ask(increment("a")), "OK 1 again");
}

TEST_F(Tokens, LeaveTheDiskOnceTheyCountNoMore) {
  EXPECT_EQ(ask(increment("a")), "OK 1");
  ASSERT_TRUE(node.write("t", "r", {delete_row()}));
  ASSERT_TRUE(node.compact("t"));
  EXPECT_GT(node.stats().table_bytes, 0u) << "the token is still there";
  node.world().clock().advance_us(kWindow + 301 * kSecondUs);
  ASSERT_TRUE(node.compact("t"));
  EXPECT_EQ(node.stats().tables_on_disk, 0u);
}

TEST_F(Tokens, KeepATableWhoseCellsAreAllDead) {
  engine::TableSpec spec;
  spec.name = "t";
  spec.families.push_back({"f"});
  ASSERT_TRUE(node.drop_table("t"));
  spec.families[0].rule = RetentionRule::max_age_us(60 * kSecondUs);
  ASSERT_TRUE(node.create_table(std::move(spec)));
  EXPECT_EQ(ask(increment("a")), "OK 1");
  ASSERT_TRUE(node.flush("t"));
  // past the age, the margin and the interval of reclaiming
  node.world().run_for_us(700 * kSecondUs);
  EXPECT_TRUE(node.cells("t").empty());
  EXPECT_EQ(ask(increment("a")), "OK 1 again");
  node.world().run_for_us(5000 * kSecondUs);
  EXPECT_EQ(node.stats().tables_on_disk, 0u) << "reclaimed when the token had ended, too";
}

// ---- how many tokens are kept

class FewTokens : public Tokens {
 protected:
  FewTokens() : Tokens(options()) {}
  static TestNodeOptions options() {
    TestNodeOptions options = options_of();
    options.shards = 1;
    options.engine.token_bytes = 4 * engine::kTokenBytes;
    return options;
  }
};

TEST_F(FewTokens, AFullMemoryRefusesNewTokensAndStillKnowsTheOthers) {
  for (int i = 1; i <= 4; ++i)
    EXPECT_EQ(ask(increment(std::to_string(i))), fmt::format("OK {}", i));
  EXPECT_EQ(node.stats().tokens, 4u);
  const auto refused = begin(increment("5"));
  wait(*refused);
  EXPECT_EQ(text(*refused), "RESOURCE_EXHAUSTED");
  EXPECT_TRUE(refused->write.error->retryable());
  EXPECT_EQ(ask(increment("4")), "OK 4 again");
  EXPECT_TRUE(node.set("t", "r", "f:d", 1, "v")) << "without a token";
  node.kill();
  ASSERT_TRUE(node.reopen());
  EXPECT_EQ(ask(increment("5")), "RESOURCE_EXHAUSTED") << "the log has brought them back";
  node.world().clock().advance_us(kWindow + kWindow / 16 + 1);
  EXPECT_EQ(ask(increment("5")), "OK 5");
  EXPECT_EQ(node.stats().tokens, 1u);
}

TEST_F(Tokens, AnAnswerOfUpToSixtyFourKibibytesIsKept) {
  TokenAsk append = increment("a");
  append.by.reset();
  append.append = std::string(kMaxTokenCellBytes - 2, 'x');  // and the bytes of f and c
  EXPECT_EQ(ask(append), fmt::format("OK {} bytes", kMaxTokenCellBytes - 2));
  EXPECT_EQ(ask(append), fmt::format("OK {} bytes again", kMaxTokenCellBytes - 2));
  cold();
  EXPECT_EQ(ask(append), fmt::format("OK {} bytes again", kMaxTokenCellBytes - 2));
  append.token = "b";
  append.append = "x";
  EXPECT_EQ(ask(append), fmt::format("OK {} bytes", kMaxTokenCellBytes - 1));
  EXPECT_EQ(ask(append), "OK again, not kept");
  EXPECT_EQ(node.read_row("t", "r")->front().value.size(), kMaxTokenCellBytes - 1);
}

// ---- while the first attempt is in progress

TEST_F(Tokens, ARepetitionWaitsForTheFirstAndItsDurability) {
  const auto first = begin(increment("a"));
  const auto again = begin(increment("a"));
  const auto other = begin(increment("a", 2));
  EXPECT_FALSE(first->finished || again->finished || other->finished);
  wait(*first);
  wait(*again);
  wait(*other);
  EXPECT_EQ(text(*first), "OK 1");
  EXPECT_EQ(text(*again), "OK 1 again");
  EXPECT_EQ(text(*other), "INVALID_ARGUMENT");
  EXPECT_EQ(count(), 1);
}

TEST_F(Tokens, ARepetitionWaitsWhileTheFirstReadsFromDisk) {
  ASSERT_TRUE(node.set("t", "r", "f:c", kServerStamped, counter_bytes(10)));
  EXPECT_EQ(ask(increment("before")), "OK 11");
  cold();
  const auto first = begin(increment("a"));
  const auto again = begin(increment("a"));
  const auto before = begin(increment("before"));
  EXPECT_FALSE(first->finished || again->finished || before->finished);
  for (const auto* one : {&first, &again, &before}) wait(**one);
  EXPECT_EQ(text(*first), "OK 12");
  EXPECT_EQ(text(*again), "OK 12 again");
  EXPECT_EQ(text(*before), "OK 11 again");
  EXPECT_EQ(count(), 12);
}

TEST(TokensOfAFailedLog, ARepetitionIsAsMuchInDoubtAsTheFirst) {
  FaultRules faults;
  TestNodeOptions options;
  options.wrap = [&](std::unique_ptr<FileSystem> inner, MemDisk&, SimLoop& loop) {
    return std::make_unique<FaultyFs>(loop.executor(), std::move(inner), faults, &loop.timers());
  };
  TokenBed bed(options);
  ASSERT_TRUE(bed.node.create_table("t", {"f"}));
  EXPECT_EQ(bed.ask(increment("ok")), "OK 1");
  ASSERT_TRUE(faults.add("write path=log/* error=EIO"));
  const auto first = bed.begin(increment("a"));
  const auto again = bed.begin(increment("a"));
  bed.wait(*first);
  bed.wait(*again);
  EXPECT_EQ(TokenBed::text(*first), "UNAVAILABLE maybe");
  EXPECT_EQ(TokenBed::text(*again), "UNAVAILABLE maybe");
  EXPECT_EQ(bed.ask(increment("a")).substr(0, 11), "UNAVAILABLE") << "the log stays closed";
  faults.clear();
  bed.node.crash(CrashPolicy::none);
  ASSERT_TRUE(bed.node.reopen());
  EXPECT_EQ(bed.ask(increment("ok")), "OK 1 again");
  EXPECT_EQ(bed.ask(increment("a")).substr(0, 4), "OK 2") << "again or not";
  EXPECT_EQ(bed.count(), 2);
}

}  // namespace
}  // namespace cellar::support
