// Conditional writes while time passes and their tablets are split, merged and moved: writes that
// have begun are completed, each is atomic, and a condition sees the cells that are live at its
// commit.
#include <gtest/gtest.h>

#include <map>

#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

std::string counter_bytes(int64_t value) {
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i)
    bytes[7 - i] = static_cast<char>(static_cast<uint64_t>(value) >> 8 * i);
  return bytes;
}
int64_t number_in(Bytes bytes) {
  uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<uint8_t>(c);
  return static_cast<int64_t>(value);
}
std::string row(int i) { return fmt::format("k{:02}", i); }

TestNodeOptions slow_disk(uint64_t seed, int64_t least_us, int64_t most_us) {
  TestNodeOptions options;
  options.seed = seed;
  options.shards = 2;
  options.min_latency_us = least_us;
  options.max_latency_us = most_us;
  return options;
}

void cold(TestNode& node) {
  ASSERT_TRUE(node.flush("t"));
  ASSERT_TRUE(node.close());
  ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
}

// Reading the blocks takes 5 ms; the cell dies after 2.
TEST(ConditionInTime, SeesNothingThatDiedWhileItsBlocksCame) {
  TestNode node(slow_disk(1, 5'000, 6'000));
  ASSERT_TRUE(node.create_table("t", {"f"}));
  const int64_t dies_us = node.world().clock().wall_us() + 60'000'000;
  OwnedMutation cell = set_cell("f:c", 1, counter_bytes(7));
  cell.expire_at_us = dies_us;
  for (const char* name : {"check", "modify"}) ASSERT_TRUE(node.write("t", name, {cell}));
  cold(node);
  node.world().run_for_us(dies_us - 2'000 - node.world().clock().wall_us());

  PendingConditional check;
  check.then_ops = {set_cell("f:seen", 1, "it lived")};
  check.else_ops = {set_cell("f:seen", 1, "it was dead")};
  node.begin(check, "t", "check");
  PendingConditional modify;
  modify.words = {"f", "c"};
  ModifyRule& rule = modify.rules.emplace_back();
  rule.kind = ModifyRule::Kind::increment;
  rule.family = modify.words[0];
  rule.qualifier = modify.words[1];
  rule.by = 1;
  node.begin(modify, "t", "modify");
  EXPECT_FALSE(check.finished) << "its blocks are on disk";
  node.wait(check);
  node.wait(modify);
  ASSERT_FALSE(check.write.error);
  ASSERT_FALSE(modify.write.error);
  ASSERT_GT(check.write.commit.stamp.value() / 1000, static_cast<uint64_t>(dies_us));
  EXPECT_FALSE(check.write.matched) << "when it was committed the row was empty";
  EXPECT_EQ(number_in(modify.write.new_cells[0].value), 1)
      << "a dead counter_bytes is a missing one";
  EXPECT_EQ(node.read_row("t", "check")->front().value, "it was dead");
}

// The converse: a cell that is live at the commit is seen, though it dies before the answer.
TEST(ConditionInTime, SeesWhatIsAliveWhenItIsCommitted) {
  TestNode node(slow_disk(1, 5'000, 6'000));
  ASSERT_TRUE(node.create_table("t", {"f"}));
  const int64_t dies_us = node.world().clock().wall_us() + 2'000;
  OwnedMutation cell = set_cell("f:c", 1, "v");
  cell.expire_at_us = dies_us;
  const auto writing = node.begin_write("t", "r", {cell});
  PendingConditional check;
  check.then_ops = {set_cell("f:seen", 1, "it lived")};
  check.else_ops = {set_cell("f:seen", 1, "it was dead")};
  node.begin(check, "t", "r");
  node.wait(check);
  node.wait(*writing);
  ASSERT_GT(node.world().clock().wall_us(), dies_us) << "the answer came later";
  ASSERT_LE(check.write.commit.stamp.value() / 1000, static_cast<uint64_t>(dies_us));
  EXPECT_TRUE(check.write.matched);
  EXPECT_EQ(node.read_row("t", "r")->front().value, "it lived");
}

// ---- while tablets are reshaped

enum class Kind { split, merge, move };

Async<Result<void>> reshape(TestNode& node, Kind kind) {
  const std::vector<engine::TabletDescriptor> tablets = node.table("t")->tablets;
  if (kind == Kind::split) {
    auto done = co_await node.node().split_tablet(ShardId{0}, tablets[0].id, row(4));
    if (!done) co_return std::unexpected(done.error());
  } else if (kind == Kind::merge) {
    auto done = co_await node.node().merge_tablets(ShardId{0}, tablets[0].id, tablets[1].id);
    if (!done) co_return std::unexpected(done.error());
  } else {
    const ShardId to{1 - tablets[0].shard.value()};
    auto done = co_await node.node().move_tablet(ShardId{0}, tablets[0].id, to);
    if (!done) co_return std::unexpected(done.error());
  }
  co_return Result<void>{};
}

class ConditionsAmidReshapes : public testing::TestWithParam<std::tuple<Kind, bool>> {
 protected:
  static constexpr int kRows = 16;
  static constexpr int kBegun = 24;  // before the reshape

  // Increments of a row on disk or in memory; like a server, it submits nothing to a tablet that is
  // on hold.
  void increment(TestNode& node, int i) {
    const std::string at = row(i);
    if (node.table("t")->locate(at).held) return;
    auto pending = std::make_unique<PendingConditional>();
    pending->words = {"f", "c"};
    ModifyRule& rule = pending->rules.emplace_back();
    rule.kind = ModifyRule::Kind::increment;
    rule.family = pending->words[0];
    rule.qualifier = pending->words[1];
    rule.by = 1;
    node.begin(*pending, "t", at);
    ++expected_[at];
    pending_.push_back(std::move(pending));
  }

  std::map<std::string, int64_t> expected_;
  std::vector<std::unique_ptr<PendingConditional>> pending_;
};

TEST_P(ConditionsAmidReshapes, AreFinishedAndEachIsOneStep) {
  const auto [kind, on_disk] = GetParam();
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    expected_.clear();
    pending_.clear();
    TestNode node(slow_disk(seed, 20, 400));
    ASSERT_TRUE(node.create_table("t", {"f"}, {row(8)}));
    for (int i = 0; i < kRows; ++i) {
      ASSERT_TRUE(node.set("t", row(i), "f:c", 1, counter_bytes(100)));
      expected_[row(i)] = 100;
    }
    if (on_disk) cold(node);
    for (int i = 0; i < kBegun; ++i) increment(node, i % kRows);
    std::optional<Result<void>> reshaped;
    spawn(node.loop(0).executor(), detail::run_into(reshape(node, kind), reshaped));
    uint64_t rounds = 0;
    ASSERT_TRUE(node.world().run_until([&] {
      if (++rounds % 4 == seed % 4 && rounds < 400)
        increment(node, static_cast<int>((rounds * 7 + seed) % kRows));
      return reshaped.has_value();
    }));
    ASSERT_TRUE(*reshaped) << reshaped->error().to_string();
    for (const auto& pending : pending_) {
      node.wait(*pending);
      ASSERT_FALSE(pending->write.error) << pending->write.error->to_string();
    }
    // All answers of a row differ: no increment was lost or applied twice.
    std::map<std::string, std::set<int64_t>> answers;
    for (const auto& pending : pending_) {
      const int64_t value = number_in(pending->write.new_cells[0].value);
      EXPECT_TRUE(answers[pending->row].insert(value).second) << pending->row << " " << value;
    }
    const auto check = [&] {
      for (const auto& [name, value] : expected_) {
        const auto cells = node.read_row("t", name);
        ASSERT_TRUE(cells && !cells->empty()) << name;
        EXPECT_EQ(number_in(cells->front().value), value) << name;
      }
    };
    check();
    node.kill();
    ASSERT_TRUE(node.reopen(1 + static_cast<uint32_t>(seed % 3)));
    check();
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, ConditionsAmidReshapes,
                         testing::Combine(testing::Values(Kind::split, Kind::merge, Kind::move),
                                          testing::Bool()));

}  // namespace
}  // namespace cellar::support
