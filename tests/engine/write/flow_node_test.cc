// Flow control in a whole node: a disk slower than the writers, a stalled log, and the latency of
// clients that ask for little.
#include <gtest/gtest.h>

#include <array>

#include "io/sim/faulty_fs.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

// A disk that takes a write every 2 ms, and clients that ask for far more: no write is refused, and
// none waits long.
TEST(FlowNode, WritersThatAreFasterThanTheDiskAreSlowedAndNotRefused) {
  TestNodeOptions options;
  options.engine.memory_bytes = 16u << 20;
  options.engine.memtable_bytes = 2u << 20;
  options.min_latency_us = options.max_latency_us = 2'000;
  TestNode node(options);
  ASSERT_TRUE(node.create_table("t", {"f"}));
  constexpr size_t kInFlight = 64;
  constexpr size_t kWrites = 6'000;
  std::vector<std::unique_ptr<PendingWrite>> writes;
  std::vector<int64_t> began_us;
  size_t finished = 0;
  int64_t longest_us = 0;
  while (finished < kWrites) {
    while (writes.size() < std::min(finished + kInFlight, kWrites)) {
      std::vector<OwnedMutation> ops;
      ops.push_back(set_cell("f:q", 1, std::string(10'000, 'v')));
      began_us.push_back(node.world().clock().boot_us());
      writes.push_back(node.begin_write("t", fmt::format("r{:06}", writes.size()), std::move(ops)));
    }
    node.world().run_for_us(500);
    while (finished < writes.size() && writes[finished]->finished) {
      ASSERT_TRUE(writes[finished]->acked()) << writes[finished]->write.error->to_string();
      longest_us = std::max(longest_us, node.world().clock().boot_us() - began_us[finished]);
      ++finished;
    }
  }
  EXPECT_LT(longest_us, 1'000'000);
}

// A client that writes again when its last write is answered; records the longest latency.
struct WriterOfOne {
  WriterOfOne(TestNode& test_node, std::string row_prefix)
      : node(test_node), prefix(std::move(row_prefix)) {}
  void look() {
    if (write && !write->finished) return;
    const int64_t now_us = node.world().clock().boot_us();
    if (write) {
      EXPECT_TRUE(write->acked()) << write->write.error->to_string();
      longest_us = std::max(longest_us, now_us - began_us);
      ++answered;
    }
    began_us = now_us;
    std::vector<OwnedMutation> ops;
    ops.push_back(set_cell("f:q", 1, std::string(bytes, 'v')));
    write = node.begin_write("t", fmt::format("{}{}", prefix, answered), std::move(ops),
                             Durability::periodic);
  }
  TestNode& node;
  const std::string prefix;
  size_t bytes = 10'000;
  std::unique_ptr<PendingWrite> write;
  int64_t began_us = 0;
  int64_t longest_us = 0;
  uint64_t answered = 0;
};

struct StalledLog : testing::Test {
  StalledLog() {
    options.shards = 2;
    options.engine.memory_bytes = 512u << 20;  // so that memtables do not fill first
    options.engine.memtable_bytes = 64u << 20;
    options.log.max_pending_bytes = engine::LogOptions().max_pending_bytes;
    options.log.segment_bytes = 16u << 20;
    options.wrap = [this](std::unique_ptr<FileSystem> inner, MemDisk&, SimLoop& loop) {
      auto fs = std::make_unique<FaultyFs>(loop.executor(), std::move(inner),
                                           rules.at(disks.size()), &loop.timers());
      disks.push_back(fs.get());
      return fs;
    };
  }
  void run_ms(TestNode& node, int ms, std::vector<WriterOfOne*> clients) {
    for (int i = 0; i < ms; ++i) {
      for (WriterOfOne* client : clients) client->look();
      node.world().run_for_us(1000);
    }
  }

  std::array<FaultRules, 2> rules;
  std::vector<FaultyFs*> disks;
  TestNodeOptions options;
};

TEST_F(StalledLog, DelaysItsWritersRefusesBeyondTheBoundAloneAndTheOtherShardGoesOn) {
  TestNode node(options);
  const auto table = node.create_table("t", {"f"}, {"m"});
  ASSERT_TRUE(table);
  ASSERT_NE(table->tablets[0].shard, table->tablets[1].shard);
  const auto stalled = table->tablets[0].shard.value();
  std::deque<WriterOfOne> crowd;  // closed loops on the shard that stalls
  for (int i = 0; i < 64; ++i) crowd.emplace_back(node, fmt::format("a{}-", i));
  WriterOfOne other(node, "z");
  std::vector<WriterOfOne*> all = {&other};
  for (WriterOfOne& one : crowd) all.push_back(&one);
  run_ms(node, 100, all);

  ASSERT_TRUE(rules[stalled].add("write path=log/* hang"));
  other.longest_us = 0;
  run_ms(node, 3'000, all);  // look() expects no refusals
  uint64_t answered = 0;
  for (const WriterOfOne& one : crowd) answered += one.answered;
  run_ms(node, 1'000, all);
  uint64_t later = 0;
  for (const WriterOfOne& one : crowd) later += one.answered;
  EXPECT_LT(later - answered, 100u) << "they are held";
  EXPECT_LE(other.longest_us, 2'000) << "another shard's";
  EXPECT_GT(other.answered, 3'900u);

  // Clients that do not wait for answers reach the bound.
  std::vector<std::unique_ptr<PendingWrite>> flood;
  const auto refused = [&flood] { return !flood.empty() && flood.back()->finished; };
  while (flood.size() < 2'000 && !refused()) {
    std::vector<OwnedMutation> ops;
    ops.push_back(set_cell("f:q", 1, std::string(100'000, 'v')));
    flood.push_back(node.begin_write("t", fmt::format("flood{}", flood.size()), std::move(ops),
                                     Durability::periodic));
  }
  ASSERT_TRUE(refused() && flood.back()->write.error) << flood.size();
  const Error& error = *flood.back()->write.error;
  EXPECT_EQ(error.code, Errc::resource_exhausted) << error.to_string();
  EXPECT_TRUE(error.retryable());
  EXPECT_EQ(error.applied, Applied::not_applied);

  rules[stalled].clear();
  disks[stalled]->release_hung();
  run_ms(node, 2'000, all);
  for (size_t i = 0; i + 1 < flood.size(); ++i) EXPECT_TRUE(flood[i]->acked()) << i;
  EXPECT_TRUE(node.set("t", "flood-again", "f:q", 1, "v"));
}

// A table whose merges lag behind its writes and which is slowed, and one on the same shard that
// asks for little.
TEST_F(StalledLog, ATableThatAsksForLittleKeepsItsLatencyBesideOneThatIsHeld) {
  options.shards = 1;
  options.engine.memory_bytes = 32u << 20;
  options.engine.memtable_bytes = 2u << 20;
  ASSERT_TRUE(rules[0].add("write path=blob/* delay_us=50000"));
  TestNode node(options);
  ASSERT_TRUE(node.create_table("heavy", {"f"}));
  ASSERT_TRUE(node.create_table("t", {"f"}));
  std::vector<std::unique_ptr<PendingWrite>> heavy;
  size_t finished = 0;
  const auto flood = [&] {
    while (heavy.size() < finished + 64) {
      std::vector<OwnedMutation> ops;
      ops.push_back(set_cell("f:q", 1, std::string(20'000, 'v')));
      heavy.push_back(node.begin_write("heavy", fmt::format("r{}", heavy.size()), std::move(ops),
                                       Durability::periodic));
    }
    while (finished < heavy.size() && heavy[finished]->finished) heavy[finished++].reset();
  };
  WriterOfOne light(node, "r");
  light.bytes = 100;
  for (int ms = 0; ms < 3'000; ++ms) {
    flood();
    light.look();
    node.world().run_for_us(1000);
  }
  EXPECT_LT(finished, 3'000u * 64 / 4) << "nobody was held";
  EXPECT_GT(light.answered, 2'900u);
  EXPECT_LE(light.longest_us, 5'000);
  // They end before the node does.
  node.wait(*light.write);
  for (const auto& write : heavy) {
    if (write) node.wait(*write);
  }
}

}  // namespace
}  // namespace cellar::support
