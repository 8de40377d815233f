// Fault rules, FaultyFs and TracingFs.
#include <gmock/gmock.h>

#include "io/disk/path.h"
#include "tests/io/disk/disk_bodies.h"

namespace cellar::test {
namespace {

using testing::HasSubstr;

class FaultyFsTest : public testing::Test {
 protected:
  template <class T>
  T run(Async<T> work) {
    return block_on(loop, std::move(work));
  }
  std::unique_ptr<File> create(const std::string& path) {
    auto file = run(fs.open(path, creating()));
    EXPECT_TRUE(file) << file.error().to_string();
    return std::move(*file);
  }
  Result<void> write(File& file, std::string_view text) {
    return run(write_at(file, 0, as_byte_span(text), IoClass::log));
  }
  void rule(std::string_view text) {
    const auto added = rules.add(text);
    ASSERT_TRUE(added) << added.error().to_string();
  }

  ShardLoop loop;
  MemDisk disk;
  FaultRules rules;
  FaultyFs fs{loop.executor(), std::make_unique<MemFs>(loop.executor(), disk), rules,
              &loop.timers()};
};

TEST_F(FaultyFsTest, NthOperationFailsOnceAndSaysItWasInjected) {
  ASSERT_TRUE(run(fs.create_dir("wal")));
  auto log = create("wal/1");
  auto other = create("other");
  rule("write path=wal/* nth=2 error=EIO");
  EXPECT_TRUE(write(*log, "1"));
  EXPECT_TRUE(write(*other, "not counted"));
  const auto failed = write(*log, "2");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::unavailable);
  EXPECT_EQ(failed.error().os_error, EIO);
  EXPECT_THAT(failed.error().message, HasSubstr("wal/1"));
  EXPECT_THAT(failed.error().message, HasSubstr("(injected)"));
  EXPECT_TRUE(write(*log, "3"));
  EXPECT_EQ(rules.hits(0), 1u);
  EXPECT_EQ(disk.read_all("wal/1"), "3");
}

TEST_F(FaultyFsTest, StickyRuleGoesOnFailing) {
  auto file = create("a");
  rule("write error=ENOSPC nth=2 sticky");
  EXPECT_TRUE(write(*file, "1"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(write(*file, "2").error().code, Errc::resource_exhausted);
  }
  EXPECT_EQ(rules.hits(), 3u);
  rules.clear();
  EXPECT_TRUE(write(*file, "4"));
}

TEST_F(FaultyFsTest, SameSeedFailsTheSameOperations) {
  std::vector<bool> outcomes[2];
  for (auto& outcome : outcomes) {
    rules.clear();
    rule("sync p=0.3 seed=7 error=EIO");
    auto file = create(outcomes[0].empty() ? "a" : "b");
    for (int i = 0; i < 50; ++i) outcome.push_back(run(sync(*file, IoClass::log)).has_value());
  }
  EXPECT_EQ(outcomes[0], outcomes[1]);
  EXPECT_THAT(outcomes[0], testing::Contains(true));
  EXPECT_THAT(outcomes[0], testing::Contains(false));
}

TEST_F(FaultyFsTest, MetadataOperationsFailByTheirName) {
  rule("create path=*.sst error=ENOSPC");
  rule("rename path=a error=EIO");
  rule("sync_dir path= nth=1 error=EIO");
  const auto created = run(fs.open("1.sst", creating()));
  ASSERT_FALSE(created);
  EXPECT_THAT(created.error().message, HasSubstr("(injected)"));
  create("a");
  EXPECT_FALSE(run(fs.rename("a", "b")));
  EXPECT_FALSE(run(fs.sync_dir("")));
  EXPECT_TRUE(run(fs.sync_dir("")));
  EXPECT_THAT(disk.all_files(), testing::ElementsAre("a"));
}

TEST_F(FaultyFsTest, ShortTransfersAreContinued) {
  rule("write short");
  rule("read short");
  auto file = create("a");
  Random random(3);
  const std::string text = random_text(random, 10'000);
  ASSERT_TRUE(write(*file, text));
  EXPECT_EQ(disk.read_all("a"), text);
  EXPECT_EQ(run(read_file(fs, "a")), text);
  EXPECT_GT(rules.hits(), 4u);
}

TEST_F(FaultyFsTest, HungOperationCompletesWhenReleased) {
  rule("sync nth=1 hang");
  auto file = create("a");
  bool done = false;
  spawn(loop.executor(), [&]() -> Async<void> {
    EXPECT_TRUE(co_await sync(*file, IoClass::log));
    done = true;
  });
  for (int i = 0; i < 50; ++i) loop.turn(false);
  EXPECT_FALSE(done);
  EXPECT_EQ(fs.release_hung(), 1u);
  while (!done) loop.turn(true);
}

TEST_F(FaultyFsTest, DelayedOperationComesLate) {
  rule("write delay_us=20000");
  auto file = create("a");
  const int64_t before_us = loop.timers().now_us();
  EXPECT_TRUE(write(*file, "late"));
  EXPECT_GE(loop.timers().now_us() - before_us, 19'000);
}

TEST_F(FaultyFsTest, RuleThatIsNotUnderstoodIsRefusedByWord) {
  static constexpr std::pair<const char*, const char*> kBad[] = {{"wriet error=EIO", "wriet"},
                                                                 {"write", "nothing"},
                                                                 {"write error=EBAD", "EBAD"},
                                                                 {"write nth=0 error=EIO", "nth"},
                                                                 {"write p=2 error=EIO", "p=2"},
                                                                 {"write often", "often"},
                                                                 {"", "no operation"}};
  for (const auto& [text, word] : kBad) {
    const auto added = rules.add(text);
    ASSERT_FALSE(added) << text;
    EXPECT_EQ(added.error().code, Errc::invalid_argument);
    EXPECT_THAT(added.error().message, HasSubstr(word)) << text;
  }
}

TEST(PathMatchesTest, StarStandsForAnyRun) {
  EXPECT_TRUE(path_matches("*", ""));
  EXPECT_TRUE(path_matches("wal/*", "wal/1.log"));
  EXPECT_TRUE(path_matches("*.log", "wal/1.log"));
  EXPECT_TRUE(path_matches("a*b*c", "a-b-b-c"));
  EXPECT_FALSE(path_matches("wal/*", "walk"));
  EXPECT_FALSE(path_matches("a*b", "abc"));
  EXPECT_FALSE(path_matches("", "a"));
}

TEST(TracingFsTest, OrderOfOperationsIsWrittenDown) {
  ShardLoop loop;
  MemDisk disk;
  Trace trace;
  TracingFs fs(std::make_unique<MemFs>(loop.executor(), disk), trace);
  ASSERT_TRUE(block_on(loop, fs.create_dir("m")));
  ASSERT_TRUE(block_on(loop, replace_file(fs, "m/CURRENT", "seven")));
  auto file = block_on(loop, fs.open("m/CURRENT", writing()));
  ASSERT_TRUE(block_on(loop, (*file)->allocate(0, 4096)));
  const std::string text = "x";
  ASSERT_TRUE(block_on(loop, write_at(**file, 9, as_byte_span(text), IoClass::log, true)));
  EXPECT_EQ(trace.text(),
            "create_dir m\n"
            "remove m/CURRENT.tmp\n"
            "create m/CURRENT.tmp\n"
            "write m/CURRENT.tmp 0+5\n"
            "sync m/CURRENT.tmp\n"
            "close m/CURRENT.tmp\n"
            "rename m/CURRENT.tmp -> m/CURRENT\n"
            "sync_dir m\n"
            "open m/CURRENT\n"
            "allocate m/CURRENT 0+4096\n"
            "write m/CURRENT 9+1 dsync\n");
}

}  // namespace
}  // namespace cellar::test
