// The turn of merges on a shard, and what does not wait for it.
#include <gtest/gtest.h>

#include <deque>

#include "engine/shard/shard_engine.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

using engine::MergeSlot;

class MergeTurns : public testing::Test {
 protected:
  MergeTurns() {
    for (const std::string& name : {"a", "b", "c"}) EXPECT_TRUE(node_.create_table(name, {"f"}));
    // Two runs each: there is something to merge.
    for (int run = 0; run < 2; ++run) {
      for (const std::string& name : {"a", "b", "c"}) {
        EXPECT_TRUE(node_.set(name, fmt::format("r{}", run), "f:q", 1, "v"));
        EXPECT_TRUE(node_.flush(name));
      }
    }
  }
  engine::Tablet& tablet(const std::string& table) {
    auto& shard = static_cast<engine::ShardEngine&>(node_.node().engine(ShardId{0}));
    return *shard.tablets().at(node_.table(table)->tablets[0].id);
  }
  // A job of that tablet asks for a turn; its place in `order` is that of its turn.
  void ask(const std::string& table) {
    spawn(node_.loop(0).executor(), take(tablet(table), table));
    node_.world().run_for_us(1'000);
  }
  Async<void> take(engine::Tablet& tablet, std::string name) {
    auto pass = tablet.gate().enter();
    auto turn = co_await tablet.shard().merge_slot.turn(tablet);
    if (!turn) {
      refused_.push_back(name + ": " + turn.error().message);
      co_return;
    }
    order_.push_back(name);
    turns_.push_back(std::move(*turn));
  }
  void end_turn() {
    turns_.pop_front();
    node_.world().run_for_us(1'000);
  }

  TestNode node_;
  std::vector<std::string> order_;
  std::vector<std::string> refused_;
  std::deque<MergeSlot::Turn> turns_;
};

TEST_F(MergeTurns, AreTakenInTheOrderOfTheQuestions) {
  for (const std::string& name : {"a", "b", "c"}) ask(name);
  EXPECT_EQ(order_, (std::vector<std::string>{"a"}));
  end_turn();
  EXPECT_EQ(order_, (std::vector<std::string>{"a", "b"}));
  end_turn();
  end_turn();
  EXPECT_EQ(order_, (std::vector<std::string>{"a", "b", "c"}));
}

// The merge of `a` may hang on its disk.
TEST_F(MergeTurns, ADroppedTabletDoesNotWaitForTheMergeOfAnother) {
  ask("a");
  ask("b");
  ask("c");
  const TabletId b = tablet("b").id();
  ASSERT_TRUE(node_.split(b, "r1")) << "of a tablet whose job waits";
  ASSERT_EQ(refused_.size(), 1u);
  EXPECT_EQ(refused_[0], fmt::format("b: tablet {} was dropped", b));
  end_turn();
  EXPECT_EQ(order_, (std::vector<std::string>{"a", "c"}));
  end_turn();
  EXPECT_EQ(node_.cells("b").size(), 2u);
  EXPECT_EQ(node_.cells("c").size(), 2u);
  for (const std::string& name : {"a", "b", "c"}) EXPECT_TRUE(node_.compact(name));
}

}  // namespace
}  // namespace cellar::support
