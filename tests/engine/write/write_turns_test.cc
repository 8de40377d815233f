// Writes that find the log's queue full wait for their turn (engine/write/write_turns.h).
#include "engine/write/write_turns.h"

#include <gtest/gtest.h>

#include "engine/shard/shard_engine.h"
#include "io/sim/faulty_fs.h"
#include "tests/support/rule_tables.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

using engine::WriteTurns;
constexpr size_t kLarge = 8u << 20;

class Turns : public testing::Test {
 protected:
  Turns() {
    TestNodeOptions options;
    options.engine.memory_bytes = 1u << 30;
    options.engine.memtable_bytes = 64u << 20;
    options.log = {};
    options.wrap = [this](std::unique_ptr<FileSystem> inner, MemDisk&, SimLoop& loop) {
      auto fs =
          std::make_unique<FaultyFs>(loop.executor(), std::move(inner), faults_, &loop.timers());
      fs_ = fs.get();
      return fs;
    };
    node_.emplace(options);
    EXPECT_TRUE(node_->create_table("t", {"f"}));
    EXPECT_TRUE(node_->create_table("u", {"f"}));
  }
  ~Turns() override {
    go_on();
    for (const auto& write : writes_) node_->wait(*write);
  }

  PendingWrite& begin(const std::string& table, std::string row, std::string value) {
    writes_.push_back(node_->begin_write(
        table, std::move(row), {set_cell("f:q", ++at_us_, std::move(value))}, Durability::sync));
    return *writes_.back();
  }
  PendingWrite& begin_large(const std::string& table = "t", std::string row = "row") {
    return begin(table, std::move(row), std::string(kLarge, 'v'));
  }
  void stall() { ASSERT_TRUE(faults_.add("write path=log/* hang")); }
  void go_on() {
    faults_.clear();
    fs_->release_hung();
  }
  // Until the next write waits.
  void fill_queue() {
    stall();
    while (turns().waiting() == 0 && writes_.size() < 100) begin_large();
    EXPECT_EQ(turns().waiting(), 1u);
  }
  const WriteTurns& turns() {
    return static_cast<engine::ShardEngine&>(node_->node().engine(ShardId{0})).context().turns;
  }

  FaultRules faults_;
  FaultyFs* fs_ = nullptr;
  std::optional<TestNode> node_;
  std::vector<std::unique_ptr<PendingWrite>> writes_;
  int64_t at_us_ = 0;
};

TEST_F(Turns, SixteenWritersOfTheLargestCellsAreAllServed) {
  ASSERT_TRUE(faults_.add("write path=log/* delay_us=2000"));
  std::array<PendingWrite*, 16> open{};
  size_t acked = 0;
  for (int ms = 0; ms < 20'000 && acked < 48; ++ms) {
    for (size_t i = 0; i < open.size(); ++i) {
      if (open[i] != nullptr && !open[i]->finished) continue;
      if (open[i] != nullptr) {
        ASSERT_TRUE(open[i]->acked()) << open[i]->write.error->to_string();
        ++acked;
      }
      open[i] = &begin_large("t", fmt::format("row{}", i));
    }
    node_->world().run_for_us(1000);
  }
  EXPECT_GE(acked, 48u);
  EXPECT_GT(turns().delayed(), 0u);
}

TEST_F(Turns, AreTakenInTheOrderOfArrivalWithinATablet) {
  fill_queue();
  for (int i = 0; i < 20; ++i) begin("t", "row", fmt::format("small{}", i));
  EXPECT_EQ(turns().waiting(), 21u) << "they wait behind the large one";
  go_on();
  CommitStamp before;
  for (const auto& write : writes_) {
    node_->wait(*write);
    ASSERT_TRUE(write->acked()) << write->write.error->to_string();
    EXPECT_GT(write->write.stamp, before);
    before = write->write.stamp;
  }
  EXPECT_EQ(turns().waiting(), 0u);
  EXPECT_EQ(turns().waiting_bytes(), 0u);
  const auto cells = node_->read_row("t", "row");
  ASSERT_TRUE(cells);
  EXPECT_EQ(cells->size(), writes_.size());
  EXPECT_EQ(cells->front().value, "small19");
}

// What a waiting write views may be gone when it is submitted.
TEST_F(Turns, AWaitingWriteHasItsOwnCopy) {
  fill_queue();
  PendingWrite& small = begin("t", "zrow", "as it was sent");
  small.row.assign(small.row.size(), '#');
  small.ops[0].value.assign(small.ops[0].value.size(), '#');
  go_on();
  node_->wait(small);
  const auto cells = node_->read_row("t", "zrow");
  ASSERT_TRUE(cells && cells->size() == 1);
  EXPECT_EQ(cells->front().value, "as it was sent");
}

TEST_F(Turns, TheTabletsOfAShardTakeThemInTurns) {
  fill_queue();
  std::vector<PendingWrite*> crowd;
  for (int i = 0; i < 10; ++i) crowd.push_back(&begin_large());
  PendingWrite& other = begin("u", "row", "small");
  EXPECT_EQ(turns().waiting(), 12u);
  go_on();
  node_->wait(other);
  EXPECT_TRUE(other.acked());
  node_->wait(*crowd.back());
  ASSERT_TRUE(crowd.back()->acked());
  EXPECT_LT(other.write.stamp, crowd[1]->write.stamp);
}

TEST_F(Turns, AConditionalWriteTakesItsTurn) {
  fill_queue();
  PendingConditional conditional;
  conditional.then_ops = {set_cell("f:q", 1'000, "then")};
  conditional.else_ops = {set_cell("f:q", 1'000, "else")};
  node_->begin(conditional, "t", "row");
  EXPECT_FALSE(conditional.finished);
  EXPECT_EQ(turns().waiting(), 2u);
  go_on();
  node_->wait(conditional);
  EXPECT_FALSE(conditional.write.error);
  EXPECT_TRUE(conditional.write.matched);
  node_->wait(*writes_.back());
  EXPECT_GT(conditional.write.commit.stamp, writes_.back()->write.stamp);
}

TEST_F(Turns, AreBoundedInBytes) {
  fill_queue();
  while (turns().waiting_bytes() + kLarge <= WriteTurns::kMaxTurnBytes && writes_.size() < 100) {
    ASSERT_FALSE(begin_large().finished) << writes_.back()->write.error->to_string();
  }
  PendingWrite& more = begin_large();
  ASSERT_TRUE(more.finished);
  ASSERT_TRUE(more.write.error);
  EXPECT_EQ(more.write.error->code, Errc::resource_exhausted);
  EXPECT_EQ(more.write.error->applied, Applied::not_applied);
  EXPECT_TRUE(more.write.error->retryable());
  EXPECT_NE(more.write.error->message.find("the bounds are 10000 and 134217728 bytes"),
            std::string::npos)
      << more.write.error->message;
}

TEST_F(Turns, AreBoundedInNumber) {
  fill_queue();
  while (turns().waiting() < WriteTurns::kMaxTurns) {
    ASSERT_FALSE(begin("t", "row", "v").finished);
  }
  PendingWrite& more = begin("t", "row", "v");
  ASSERT_TRUE(more.finished);
  EXPECT_EQ(more.write.error->code, Errc::resource_exhausted);
}

TEST_F(Turns, CopiesForWhichTheMemtablesHaveNoRoomAreRefused) {
  node_.reset();
  TestNodeOptions options;
  options.engine.memory_bytes = 96u << 20;  // 48 MiB of memtables
  options.engine.memtable_bytes = 16u << 20;
  options.log = {};
  options.wrap = [this](std::unique_ptr<FileSystem> inner, MemDisk&, SimLoop& loop) {
    auto fs =
        std::make_unique<FaultyFs>(loop.executor(), std::move(inner), faults_, &loop.timers());
    fs_ = fs.get();
    return fs;
  };
  node_.emplace(options);
  ASSERT_TRUE(node_->create_table("t", {"f"}));
  fill_queue();
  for (int i = 0; i < 10 && !writes_.back()->finished; ++i) begin_large();
  ASSERT_TRUE(writes_.back()->finished);
  EXPECT_EQ(writes_.back()->write.error->code, Errc::resource_exhausted);
  EXPECT_LE(turns().waiting_bytes() + node_->stats().memtable_bytes, 48u << 20);
}

TEST_F(Turns, AreRefusedAsOverloadWhenTheLogStandsStill) {
  fill_queue();
  PendingWrite& second = begin("t", "row", "v");
  node_->world().run_for_us(WriteTurns::kStillUs / 2);
  EXPECT_FALSE(second.finished);
  node_->world().run_for_us(WriteTurns::kStillUs);
  ASSERT_TRUE(second.finished);
  EXPECT_EQ(second.write.error->code, Errc::resource_exhausted);
  EXPECT_TRUE(second.write.error->retryable());
  EXPECT_EQ(turns().waiting(), 0u);
  go_on();
  for (const auto& write : writes_) node_->wait(*write);
  EXPECT_TRUE(node_->set("t", "row", "f:q", 1'000, "again"));
}

// The first attempt is in the log.
TEST_F(Turns, ARefusedRepetitionOfARangeDeleteMayHaveBeenApplied) {
  WriteToken token;
  token.client = "client";
  token.token = "first";
  token.issued_us = node_->world().clock().wall_us();
  token.content = {.low = 5};
  const engine::TabletDescriptor tablet = node_->table("t")->tablets[0];
  auto first = node_->begin_drop_rows(tablet, "a", "b", &token);
  node_->wait(*first);
  ASSERT_TRUE(first->acked()) << first->write.error->to_string();
  fill_queue();
  auto again = node_->begin_drop_rows(tablet, "a", "b", &token);
  WriteToken other = token;
  other.token = "second";
  auto fresh = node_->begin_drop_rows(tablet, "a", "b", &other);
  node_->world().run_for_us(2 * WriteTurns::kStillUs);
  ASSERT_TRUE(again->finished && fresh->finished);
  EXPECT_EQ(again->write.error->code, Errc::resource_exhausted);
  EXPECT_EQ(again->write.error->applied, Applied::maybe_applied);
  EXPECT_EQ(fresh->write.error->applied, Applied::not_applied);
}

TEST_F(Turns, AreRefusedWithTheErrorOfALogThatFails) {
  fill_queue();
  PendingWrite& waiting = *writes_.back();
  faults_.clear();
  ASSERT_TRUE(faults_.add("write path=log/* error=EIO"));
  fs_->release_hung();
  node_->wait(waiting);
  ASSERT_TRUE(waiting.write.error);
  EXPECT_EQ(waiting.write.error->code, Errc::unavailable) << waiting.write.error->to_string();
  EXPECT_EQ(waiting.write.error->applied, Applied::not_applied);
}

TEST_F(Turns, ADroppedTableAnswersThem) {
  fill_queue();
  PendingWrite& waiting = *writes_.back();
  std::optional<Result<void>> dropped;
  spawn(node_->loop(0).executor(),
        detail::run_into(node_->node().drop_table(ShardId{0}, "t", {}), dropped));
  node_->world().run_for_us(10'000);
  EXPECT_FALSE(waiting.finished);
  go_on();
  node_->wait(waiting);
  ASSERT_TRUE(node_->world().run_until([&] { return dropped.has_value(); }));
  EXPECT_TRUE(*dropped) << dropped->error().to_string();
}

TEST_F(Turns, ATabletComesToRestBehindThem) {
  fill_queue();
  PendingWrite& waiting = *writes_.back();
  std::optional<Result<std::vector<engine::TabletDescriptor>>> split;
  spawn(node_->loop(0).executor(),
        detail::run_into(
            node_->node().split_tablet(ShardId{0}, node_->table("t")->tablets[0].id, "s"), split));
  node_->world().run_for_us(10'000);
  EXPECT_FALSE(split.has_value());
  go_on();
  ASSERT_TRUE(node_->world().run_until([&] { return split.has_value(); }));
  EXPECT_TRUE(*split) << split->error().to_string();
  EXPECT_TRUE(waiting.acked()) << waiting.write.error->to_string();
}

// The change comes between what is in the log and what waits for it.
TEST_F(Turns, AChangeOfRulesDoesNotWaitForThem) {
  fill_queue();
  PendingWrite& waiting = *writes_.back();
  engine::TableChange change = rule_of_f(RetentionRule::max_versions(3));
  std::optional<Result<engine::TableEntry>> altered;
  spawn(node_->loop(0).executor(),
        detail::run_into(node_->node().alter_table(ShardId{0}, std::move(change), {}), altered));
  node_->world().run_for_us(10'000);
  go_on();
  ASSERT_TRUE(node_->world().run_until([&] { return altered.has_value() && waiting.finished; }));
  EXPECT_TRUE(*altered) << altered->error().to_string();
  EXPECT_TRUE(waiting.acked()) << waiting.write.error->to_string();
}

TEST_F(Turns, AnOrderlyEndAnswersThem) {
  fill_queue();
  begin("u", "row", "v");
  go_on();
  ASSERT_TRUE(node_->close());
  for (const auto& write : writes_) EXPECT_TRUE(write->acked());
  ASSERT_TRUE(node_->reopen());
  const auto cells = node_->read_row("u", "row");
  ASSERT_TRUE(cells);
  EXPECT_EQ(cells->size(), 1u);
}

}  // namespace
}  // namespace cellar::support
