#include "engine/store/blob/directory_sync.h"

#include "tests/engine/store/store_rig.h"

namespace cellar::engine {
namespace {

struct DirectorySyncTest : testing::Test {
  DirectorySyncTest() {
    expect_ok(rig.run(rig.fs->create_dir("d")));
    expect_ok(rig.rules.add("sync_dir path=d delay_us=1000"));
  }
  void request(DirectorySync& names) {
    spawn(rig.loop.executor(), [this, &names]() -> Async<void> {
      auto outcome = co_await names.run();
      outcomes.push_back(std::move(outcome));
    });
  }

  MemDisk disk;
  StoreRig rig{disk};
  std::vector<Result<void>> outcomes;
};

TEST_F(DirectorySyncTest, RequestsDuringASyncShareTheNext) {
  DirectorySync names(*rig.fs, "d");
  request(names);
  rig.world.run_for_us(100);
  for (int i = 0; i < 50; ++i) request(names);
  rig.world.run_for_us(1'000);
  EXPECT_EQ(outcomes.size(), 1u) << "the running sync may not have seen their changes";
  request(names);
  rig.world.run_for_us(1'000);
  EXPECT_EQ(outcomes.size(), 51u);
  rig.world.run_for_us(1'000);
  EXPECT_EQ(outcomes.size(), 52u);
  EXPECT_EQ(rig.rules.hits(), 3u);
  for (const auto& outcome : outcomes) EXPECT_TRUE(outcome);
  request(names);
  rig.world.run_for_us(2'000);
  EXPECT_EQ(outcomes.size(), 53u);
}

TEST_F(DirectorySyncTest, AFailureIsThatOfAllThatSharedIt) {
  DirectorySync names(*rig.fs, "d");
  rig.rules.clear();
  expect_ok(rig.rules.add("sync_dir path=d nth=2 error=EIO"));
  request(names);
  for (int i = 0; i < 5; ++i) request(names);
  rig.world.run_for_us(1'000);
  request(names);
  rig.world.run_for_us(1'000);
  ASSERT_EQ(outcomes.size(), 7u);
  size_t failed = 0;
  for (const auto& outcome : outcomes) failed += !outcome;
  EXPECT_EQ(failed, 5u);
  EXPECT_TRUE(outcomes.front() && outcomes.back());
}

}  // namespace
}  // namespace cellar::engine
