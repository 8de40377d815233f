// A shard that reads more than its cache holds borrows memory of one that does not use it, and
// gives it back when that one writes (engine/node/cache_loans.h).
#include "engine/node/cache_loans.h"

#include <gtest/gtest.h>

#include "engine/read/scan.h"
#include "engine/shard/shard_engine.h"
#include "io/base/random.h"
#include "tests/support/durations.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

struct CellCollector final : CellSink {
  Flow cell(const CellView&) override {
    ++cells;
    return Flow::more;
  }
  Flow end_row(Bytes) override { return Flow::more; }
  size_t cells = 0;
};

class Loans : public testing::Test {
 protected:
  Loans() {
    TestNodeOptions options;
    options.shards = 2;
    options.engine.memory_bytes = 16u << 20;
    node_.emplace(options);
    // Of a table's two tablets each shard has one.
    EXPECT_TRUE(node_->create_table("t", {"f"}, {"m"}));
    const auto& tablets = node_->table("t")->tablets;
    EXPECT_NE(tablets[0].shard, tablets[1].shard);
    first_ = tablets[0].shard.value();
    node_->on_round([this](TestNode&) { check(); });
  }
  ~Loans() override { node_->on_round(nullptr); }
  // Of the shard of the first or of the second tablet.
  engine::MemoryBudget& memory(uint32_t tablet) {
    const ShardId shard{tablet == 0 ? first_ : 1 - first_};
    return static_cast<engine::ShardEngine&>(node_->node().engine(shard)).memory();
  }
  // At every moment no more is borrowed than lent.
  void check() {
    if (!node_->is_open()) return;
    ASSERT_LE(memory(0).granted_bytes() + memory(1).granted_bytes(), 0);
    ASSERT_TRUE(memory(0).holds() && memory(1).holds());
  }
  void write(const std::string& prefix, int rows) {
    for (int i = 0; i < rows; ++i) {
      std::string value;
      while (value.size() < 3'000) value.push_back(static_cast<char>('!' + random_.below(90)));
      ASSERT_TRUE(node_->set("t", fmt::format("{}{:05}", prefix, i), "f:q", 1, value));
    }
  }
  // Once each: TestNode reads a row several times, which the cache would take for a hot one.
  void read(const std::string& prefix, int rows, int reads) {
    for (int i = 0; i < reads; ++i) {
      const std::string row =
          fmt::format("{}{:05}", prefix, random_.below(static_cast<uint64_t>(rows)));
      ReadSpec spec;
      spec.rows.add({row, row + '\0'});
      const engine::TabletDescriptor& tablet = node_->table("t")->locate(row);
      auto cursor = node_->node().engine(tablet.shard).open_scan(tablet.id, tablet.epoch, spec);
      ASSERT_TRUE(cursor);
      CellCollector sink;
      while ((*cursor)->run(sink) == engine::ScanStep::blocked) {
        node_->world().block_on(node_->loop(tablet.shard.value()), (*cursor)->load());
      }
      ASSERT_EQ(sink.cells, 1u);
    }
  }

  Random random_{5};
  uint32_t first_ = 0;
  std::optional<TestNode> node_;
};

TEST_F(Loans, ABusyCacheBorrowsFromAnIdleShardAndReturnsItWhenThatOneWrites) {
  constexpr int kRows = 5'000;  // 15 MB: more than a shard's cache
  write("a", kRows);
  ASSERT_TRUE(node_->flush("t"));
  for (int i = 0; i < 30; ++i) {
    read("a", kRows, 1'500);
    node_->world().run_for_us(kSecondUs);
  }
  const int64_t lent = memory(0).granted_bytes();
  EXPECT_GT(lent, 0);
  EXPECT_EQ(memory(1).granted_bytes(), -lent);
  EXPECT_GE(memory(1).lent_bytes(), memory(1).share_bytes() / 4);
  // The memtables of the other shard take half of its share.
  write("x", 1'600);
  node_->world().run_for_us(kSecondUs);
  EXPECT_FALSE(memory(1).is_short());
  EXPECT_LT(memory(0).granted_bytes(), lent);
  EXPECT_EQ(memory(0).granted_bytes() + memory(1).granted_bytes(), 0);
}

TEST_F(Loans, NothingMovesBetweenShardsThatDoNotMiss) {
  write("a", 300);
  write("x", 300);
  ASSERT_TRUE(node_->flush("t"));
  for (int i = 0; i < 10; ++i) {
    read("a", 300, 500);
    read("x", 300, 500);
    node_->world().run_for_us(kSecondUs);
  }
  EXPECT_EQ(memory(0).granted_bytes(), 0);
  EXPECT_EQ(memory(1).granted_bytes(), 0);
}

}  // namespace
}  // namespace cellar::support
