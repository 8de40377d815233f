// A dropped family is empty when it is added again, whatever happened in between.
#include <gtest/gtest.h>

#include "tests/engine/node/alter_bed.h"

namespace cellar::support {
namespace {

struct State {
  const char* name;
  void (*reach)(TestNode& node);  // runs between the drop and the addition, and after the addition
};

void in_memory(TestNode&) {}
void flushed(TestNode& node) { ASSERT_TRUE(node.flush("t")); }
void compacted(TestNode& node) { ASSERT_TRUE(node.compact("t")); }
void crashed(TestNode& node) {
  node.crash(CrashPolicy::none);
  ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
}
void killed_on_other_shards(TestNode& node) {
  node.kill();
  ASSERT_TRUE(node.reopen(3)) << node.open_error()->to_string();
}
void closed(TestNode& node) {
  ASSERT_TRUE(node.close());
  ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
}

const std::vector<State> kStates = {{"in memory", in_memory},
                                    {"flushed", flushed},
                                    {"compacted", compacted},
                                    {"crashed", crashed},
                                    {"killed, other shards", killed_on_other_shards},
                                    {"closed", closed}};

TEST(AlterAgain, AFamilyAddedAgainIsEmptyInEveryState) {
  for (const State& before : kStates) {
    for (const State& between : kStates) {
      for (const State& after : kStates) {
        SCOPED_TRACE(fmt::format("{} / {} / {}", before.name, between.name, after.name));
        TestNode node(shards(2));
        ASSERT_TRUE(node.create_table("t", {"f", "g"}, {"m"}));
        ASSERT_TRUE(node.set("t", "a", "f:q", 5, "kept"));
        ASSERT_TRUE(node.set("t", "a", "g:q", 5, "old"));
        ASSERT_TRUE(node.set("t", "z", "g:q", 9, "old"));
        before.reach(node);
        ASSERT_TRUE(node.alter_table(dropping({"g"})));
        between.reach(node);
        EXPECT_EQ(values(node), Values{"a f=kept"});
        ASSERT_TRUE(node.alter_table(adding({"g"})));
        EXPECT_EQ(values(node), Values{"a f=kept"});
        ASSERT_TRUE(node.set("t", "z", "g:q", 5, "new"));
        after.reach(node);
        EXPECT_EQ(values(node), (Values{"a f=kept", "z g=new"}));
      }
    }
  }
}

TEST(AlterAgain, WritesOnTheirWayToADroppedFamilyDoNotReappearInTheNextOne) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    TestNodeOptions options = shards(2);
    options.seed = seed;
    options.min_latency_us = 20;
    options.max_latency_us = 2'000;
    TestNode node(options);
    ASSERT_TRUE(node.create_table("t", {"f", "g"}, {"m"}));
    std::vector<std::unique_ptr<PendingWrite>> writes;
    for (int i = 0; i < 30; ++i) {
      writes.push_back(node.begin_write("t", i % 2 ? "a" : "z", one("g:q", "old")));
    }
    ASSERT_TRUE(node.alter_table(dropping({"g"})));
    ASSERT_TRUE(node.alter_table(adding({"g"})));
    EXPECT_EQ(values(node), Values{});
    ASSERT_TRUE(node.set("t", "z", "g:r", 5, "new"));
    for (const auto& write : writes) node.wait(*write);
    EXPECT_EQ(values(node), Values{"z g=new"});
    node.crash(CrashPolicy::random_subset);
    ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
    EXPECT_EQ(values(node), Values{"z g=new"});
  }
}

TEST(AlterAgain, StampsOfANewFamilyLieAboveItsCreationThoughTheClockStandsStillAndTheNodeRestarts) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}, {"m"}));
  // The stamps of one tablet run ahead of the clock; the addition raises those of the other tablet
  // too.
  CommitStamp ahead;
  for (int i = 0; i < 3000; ++i) {
    const auto write = node.begin_write("t", "a", one("f:q", "v"));
    node.wait(*write);
    ahead = write->write.stamp;
  }
  ASSERT_GT(ahead.value(), static_cast<uint64_t>(node.world().clock().wall_us()) * 1000 + 2000);
  const auto altered = node.alter_table(adding({"g"}));
  ASSERT_TRUE(altered);
  const CommitStamp created = altered->schema.find_family("g")->created;
  EXPECT_GE(created, ahead);
  const auto at_once = node.set("t", "z", "g:q", 5, "1");
  ASSERT_TRUE(at_once);
  EXPECT_GT(*at_once, created);
  node.crash(CrashPolicy::none);
  ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
  const auto later = node.set("t", "y", "g:q", 5, "2");
  ASSERT_TRUE(later);
  EXPECT_GT(*later, created);
  EXPECT_EQ(values(node), (Values{"a f=v", "y g=2", "z g=1"}));
}

TEST(AlterAgain, AMergeThatRunsWhileAFamilyIsDroppedAndAddedAgainLosesAndRevivesNothing) {
  for (uint64_t seed = 1; seed <= 15; ++seed) {
    SCOPED_TRACE(seed);
    TestNodeOptions options;
    options.seed = seed;
    options.min_latency_us = 50;
    options.max_latency_us = 3'000;
    TestNode node(options);
    ASSERT_TRUE(node.create_table("t", {"f", "g"}));
    for (int run = 0; run < 3; ++run) {
      for (const char* row : {"a", "b", "c"}) {
        ASSERT_TRUE(node.set("t", row, "g:q", run, std::string(30'000, 'o')));
      }
      ASSERT_TRUE(node.flush("t"));
    }
    Result<void> merged;
    bool over = false;
    spawn(node.loop(0).executor(),
          [](engine::Node& n, Result<void>& out, bool& done) -> Async<void> {
            out = co_await n.compact_table(ShardId{0}, "t");
            done = true;
          }(node.node(), merged, over));
    node.world().run_for_us(static_cast<int64_t>(seed) * 700);
    ASSERT_TRUE(node.alter_table(dropping({"g"})));
    node.world().run_for_us(static_cast<int64_t>(seed) * 300);
    ASSERT_TRUE(node.alter_table(adding({"g"})));
    ASSERT_TRUE(node.set("t", "b", "g:q", 1, "new"));
    ASSERT_TRUE(node.world().run_until([&] { return over; }));
    EXPECT_TRUE(merged);
    EXPECT_EQ(values(node), Values{"b g=new"});
    ASSERT_TRUE(node.compact("t"));
    EXPECT_EQ(values(node), Values{"b g=new"});
  }
}

TEST(AlterAgain, UnderLoadAcknowledgedWritesStayAndTheDroppedFamilyIsGone) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    TestNodeOptions options = shards(2);
    options.seed = seed;
    options.min_latency_us = 20;
    options.max_latency_us = 500;
    options.engine.memtable_bytes = 64u << 10;
    TestNode node(options);
    ASSERT_TRUE(node.create_table("t", {"f", "g"}, {"m"}));
    Random random(seed);
    std::vector<std::unique_ptr<PendingWrite>> writes;
    Values expected;
    bool exists = true;
    for (int i = 0; i < 300; ++i) {
      if (random.one_in(20)) {
        ASSERT_TRUE(node.alter_table(exists ? dropping({"g"}) : adding({"g"})));
        exists = !exists;
        std::erase_if(expected, [](const std::string& v) { return v.find(" g=") != v.npos; });
      }
      const std::string row = fmt::format("{}{:04}", i % 2 ? "a" : "z", i);
      const std::string family = random.one_in(2) ? "f" : "g";
      std::vector<OwnedMutation> ops = one(family + ":q", std::to_string(i));
      ops.push_back(set_cell(family + ":pad", 5, std::string(2'000, 'p')));
      writes.push_back(node.begin_write("t", row, std::move(ops)));
      if (family == "g" && !exists) {
        ASSERT_TRUE(writes.back()->finished);
        ASSERT_EQ(writes.back()->write.error->code, Errc::not_found);
        continue;
      }
      expected.push_back(fmt::format("{} {}={}", row, family, i));
      if (random.one_in(8)) node.wait(*writes.back());
    }
    for (const auto& write : writes) node.wait(*write);
    std::sort(expected.begin(), expected.end());
    const auto check = [&](const char* when) {
      Values got = values(node);
      std::erase_if(got, [](const std::string& v) { return v.ends_with("ppp"); });
      EXPECT_EQ(got, expected) << when;
    };
    check("at the end");
    node.crash(CrashPolicy::none);
    ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
    check("after a crash");
    ASSERT_TRUE(node.compact("t"));
    check("compacted");
  }
}

}  // namespace
}  // namespace cellar::support
