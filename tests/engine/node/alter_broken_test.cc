// Interrupted changes of a table: by a power failure, or by an edit of unknown outcome.
#include <gtest/gtest.h>

#include <set>

#include "io/sim/faulty_fs.h"
#include "tests/engine/node/alter_bed.h"

namespace cellar::support {
namespace {

TEST(AlterBroken, APowerCutAtAnyStepLeavesTheTableBeforeOrAfterTheChange) {
  std::set<size_t> seen;  // schema versions found in the images
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    std::vector<std::unique_ptr<MemDisk>> images;
    bool taking = false;
    TestNodeOptions options = shards(2);
    options.seed = seed;
    options.min_latency_us = 20;
    options.max_latency_us = 300;
    options.on_round = [&](TestNode& n) {
      if (taking) images.push_back(n.crash_image(static_cast<CrashPolicy>(images.size() % 4)));
    };
    TestNode node(options);
    ASSERT_TRUE(node.create_table("t", {"f", "g"}, {"m"}));
    ASSERT_TRUE(node.set("t", "a", "g:q", 5, "old"));
    ASSERT_TRUE(node.set("t", "z", "f:q", 5, "kept"));
    if (seed % 2) ASSERT_TRUE(node.flush("t"));
    taking = true;
    ASSERT_TRUE(node.alter_table(dropping({"g"})));
    ASSERT_TRUE(node.alter_table(adding({"g"})));
    taking = false;
    const int64_t wall_us = node.world().clock().wall_us();
    for (size_t i = 0; i < images.size(); ++i) {
      SCOPED_TRACE(fmt::format("seed {} image {} of {}", seed, i, images.size()));
      TestNodeOptions after = shards(1 + static_cast<uint32_t>(i % 3));
      after.start_wall_us = wall_us;
      TestNode back(after, std::move(images[i]));
      ASSERT_TRUE(back.is_open()) << back.open_error()->to_string();
      const uint64_t version = back.table("t")->schema.version;
      seen.insert(version);
      EXPECT_EQ(families(back), version == 2 ? Values{"f"} : (Values{"f", "g"}));
      EXPECT_EQ(values(back), version == 1 ? (Values{"a g=old", "z f=kept"}) : Values{"z f=kept"});
      // The change can be completed from this state.
      if (version == 1) ASSERT_TRUE(back.alter_table(dropping({"g"})));
      if (version <= 2) ASSERT_TRUE(back.alter_table(adding({"g"})));
      EXPECT_EQ(values(back), Values{"z f=kept"});
      ASSERT_TRUE(back.set("t", "b", "g:q", 5, "new"));
      EXPECT_EQ(values(back), (Values{"b g=new", "z f=kept"}));
    }
  }
  EXPECT_EQ(seen, (std::set<size_t>{1, 2, 3})) << "some step was never met";
}

// Until the next start it is unknown whether the family is dropped, so no write to it may be
// acknowledged that the next start would hide.
TEST(AlterBroken, AnEditOfUnknownOutcomeStopsTheWritesOfEveryShardUntilTheNextStart) {
  FaultRules faults;
  TestNodeOptions options = shards(2);
  options.wrap = [&faults](std::unique_ptr<FileSystem> inner, MemDisk&, SimLoop& loop) {
    return std::make_unique<FaultyFs>(loop.executor(), std::move(inner), faults, &loop.timers());
  };
  TestNode node(options);
  ASSERT_TRUE(node.create_table("t", {"f", "g"}, {"m"}));
  ASSERT_TRUE(node.set("t", "z", "g:q", 5, "1"));
  ASSERT_TRUE(faults.add("write path=manifest/* error=EIO"));
  const auto altered = node.alter_table(dropping({"g"}));
  ASSERT_FALSE(altered);
  EXPECT_EQ(altered.error().applied, Applied::maybe_applied);
  EXPECT_EQ(values(node), Values{"z g=1"}) << "reads go on";
  for (const char* row : {"a", "z"}) {
    const auto refused = node.set("t", row, "g:q", 6, "2");
    ASSERT_FALSE(refused) << row;
    EXPECT_EQ(refused.error().code, Errc::unavailable) << row;
  }
  faults.clear();
  node.crash(CrashPolicy::none);
  ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
  EXPECT_EQ(values(node), Values{"z g=1"}) << "the edit did not reach the disk";
  ASSERT_TRUE(node.alter_table(dropping({"g"})));
  EXPECT_EQ(values(node), Values{});
}

}  // namespace
}  // namespace cellar::support
