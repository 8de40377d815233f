// Large files are removed in steps with rests between them, and are removed under all failures.
#include "engine/store/file/file_removal.h"

#include "tests/engine/store/store_rig.h"

namespace cellar::engine {
namespace {

constexpr uint64_t kStep = FileRemoval::kStepBytes;
constexpr uint64_t kFull = FileRemoval::kFullBacklogBytes;
// While little is waiting, a rest is this many times as long as its step.
constexpr int64_t kLeastRests = 9;

Async<Result<void>> make_file(FileSystem& fs, std::string path, uint64_t size) {
  OpenOptions options;
  options.mode = OpenOptions::Mode::create_new;
  CO_TRY(auto file, co_await fs.open(path, options));
  CO_TRY_VOID(co_await file->truncate(size));
  co_return co_await file->close();
}

TEST(FileRemovalLaw, TheShareFollowsTheBacklogAndTheRestTheShare) {
  EXPECT_DOUBLE_EQ(FileRemoval::share(0), FileRemoval::kLeastShare);
  EXPECT_DOUBLE_EQ(FileRemoval::share(kFull), 1);
  EXPECT_DOUBLE_EQ(FileRemoval::share(5 * kFull), 1);
  EXPECT_LT(FileRemoval::share(kFull / 4), FileRemoval::share(kFull / 2));
  EXPECT_LT(FileRemoval::share(kFull / 4), 1.2 * FileRemoval::kLeastShare) << "calm at first";
  EXPECT_EQ(FileRemoval::rest_us(6'000, 0), kLeastRests * 6'000);
  EXPECT_EQ(FileRemoval::rest_us(6'000, kFull), 0);
  EXPECT_EQ(FileRemoval::rest_us(0, 0), 0);
  EXPECT_EQ(FileRemoval::rest_us(10'000'000, 0), kLeastRests * FileRemoval::kMostStepUs);
}

struct FileRemovalTest : testing::Test {
  // How long the removal of a file takes if each step takes `step_us`.
  int64_t removal_us(FileRemoval& by, uint64_t size, int64_t step_us) {
    expect_ok(rig.run(make_file(*rig.fs, "big", size)));
    expect_ok(rig.rules.add(fmt::format("truncate path=big delay_us={}", step_us)));
    const int64_t began_us = rig.loop.timers().now_us();
    expect_ok(rig.run(by.remove("big")));
    steps = rig.rules.hits();
    rig.rules.clear();
    EXPECT_TRUE(disk.all_files().empty());
    EXPECT_EQ(by.waiting_bytes(), 0u);
    return rig.loop.timers().now_us() - began_us;
  }

  MemDisk disk;
  StoreRig rig{disk};
  FileRemoval removal{*rig.fs, &rig.loop.timers()};
  size_t steps = 0;
};

TEST_F(FileRemovalTest, ALargeFileGoesInStepsAndIsAtWorkForATenthOfTheTime) {
  removal.begin_rests();
  const int64_t took_us = removal_us(removal, 10 * kStep + 1, 6'000);
  EXPECT_EQ(steps, 10u);
  EXPECT_GE(took_us, 10 * (kLeastRests + 1) * 6'000 * 9 / 10);
  EXPECT_LE(took_us, 10 * ((kLeastRests + 1) * 6'000 + 3 * Timers::kTickUs));
}

TEST_F(FileRemovalTest, ASmallFileIsNotCut) {
  removal.begin_rests();
  EXPECT_LT(removal_us(removal, kStep, 6'000), 6'000);
  EXPECT_EQ(steps, 0u);
}

TEST_F(FileRemovalTest, WithNobodyToDisturbThereAreNoRests) {
  EXPECT_LE(removal_us(removal, 10 * kStep, 6'000), 9 * 6'000 + 1'000) << "before begin_rests()";
  removal.begin_rests();
  EXPECT_GE(removal_us(removal, 10 * kStep, 6'000), 9 * (kLeastRests + 1) * 6'000 * 9 / 10);
  removal.boost();
  EXPECT_LE(removal_us(removal, 10 * kStep, 6'000), 9 * 6'000 + 1'000);
  FileRemoval without(*rig.fs, nullptr);
  without.begin_rests();
  EXPECT_LE(removal_us(without, 10 * kStep, 6'000), 9 * 6'000 + 1'000);
}

TEST_F(FileRemovalTest, HurryEndsARest) {
  removal.begin_rests();
  expect_ok(rig.run(make_file(*rig.fs, "big", 3 * kStep)));
  expect_ok(rig.rules.add("truncate path=big delay_us=40000"));
  bool gone = false;
  const auto work = [&]() -> Async<void> {
    expect_ok(co_await removal.remove("big"));
    gone = true;
  };
  spawn(rig.loop.executor(), work());
  rig.world.run_for_us(50'000);  // in the first rest, of 360 ms
  EXPECT_FALSE(gone);
  removal.boost();
  rig.world.run_for_us(45'000);
  EXPECT_TRUE(gone);
}

TEST_F(FileRemovalTest, SeveralAreOneBacklogAndGoOneAfterTheOther) {
  removal.begin_rests();
  constexpr int kFiles = 4;
  int gone = 0;
  uint64_t most_waiting = 0;
  const auto work = [&](std::string path) -> Async<void> {
    expect_ok(co_await removal.remove(path));
    ++gone;
  };
  for (int i = 0; i < kFiles; ++i) {
    expect_ok(rig.run(make_file(*rig.fs, fmt::format("f{}", i), kFull / 4)));
  }
  expect_ok(rig.rules.add("truncate path=f* delay_us=5000"));
  for (int i = 0; i < kFiles; ++i) spawn(rig.loop.executor(), work(fmt::format("f{}", i)));
  const int64_t began_us = rig.loop.timers().now_us();
  rig.world.run_until([&] {
    most_waiting = std::max(most_waiting, removal.waiting_bytes());
    return gone == kFiles;
  });
  EXPECT_EQ(most_waiting, kFull - kFiles * kStep) << "the last step goes with the name";
  const auto steps_us = static_cast<int64_t>(kFull / kStep) * 5'000;
  const int64_t took_us = rig.loop.timers().now_us() - began_us;
  EXPECT_GT(took_us, steps_us) << "never two at once";
  EXPECT_LT(took_us, (kLeastRests + 1) * 6 / 10 * steps_us) << "faster than a single file would go";
}

// The writer of the file waits for its cut, while removals of tables may take seconds.
TEST_F(FileRemovalTest, ACutDoesNotWaitForTheRemovalsBeforeIt) {
  removal.begin_rests();
  for (const char* path : {"old1", "old2"})
    expect_ok(rig.run(make_file(*rig.fs, path, 100 * kStep)));
  expect_ok(rig.run(make_file(*rig.fs, "new", 3 * kStep)));
  expect_ok(rig.rules.add("truncate path=* delay_us=3000"));
  const auto remove = [&](std::string path) -> Async<void> {
    expect_ok(co_await removal.remove(path));
  };
  for (const char* path : {"old1", "old2"}) spawn(rig.loop.executor(), remove(path));
  rig.world.run_for_us(100'000);
  OpenOptions options;
  options.mode = OpenOptions::Mode::read_write;
  auto file = value_of(rig.run(rig.fs->open("new", options)));
  const int64_t began_us = rig.loop.timers().now_us();
  expect_ok(rig.run(removal.cut(*file, 3 * kStep, kStep / 2)));
  const int64_t took_us = rig.loop.timers().now_us() - began_us;
  EXPECT_GE(took_us, (kLeastRests + 1) * 3'000) << "in steps all the same";
  EXPECT_LE(took_us, 3 * (kLeastRests + 1) * 3'000);
  EXPECT_EQ(value_of(rig.run(file->size())), kStep / 2);
  expect_ok(rig.run(file->close()));
  EXPECT_GT(removal.waiting_bytes(), 100 * kStep) << "they were there all the time";
  removal.boost();
  rig.world.run_for_us(10'000'000);
  EXPECT_EQ(removal.waiting_bytes(), 0u);
  EXPECT_EQ(disk.all_files().size(), 1u);
}

TEST_F(FileRemovalTest, WhateverGoesWrongTheFileGoesAndOneThatIsNotThereIsGone) {
  removal.begin_rests();
  expect_ok(rig.run(removal.remove("none")));
  for (const char* rule : {"open path=big error=EIO", "size path=big error=EIO",
                           "truncate path=big nth=2 error=EIO", "close path=big error=EIO"}) {
    SCOPED_TRACE(rule);
    expect_ok(rig.run(make_file(*rig.fs, "big", 5 * kStep)));
    expect_ok(rig.rules.add(rule));
    expect_ok(rig.run(removal.remove("big")));
    EXPECT_EQ(rig.rules.hits(), 1u);
    EXPECT_TRUE(disk.all_files().empty());
    rig.rules.clear();
  }
  expect_ok(rig.run(make_file(*rig.fs, "big", 5 * kStep)));
  expect_ok(rig.rules.add("remove path=big error=EIO"));
  EXPECT_FALSE(rig.run(removal.remove("big")));
}

}  // namespace
}  // namespace cellar::engine
