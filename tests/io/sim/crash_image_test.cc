// The contents of a MemDisk after a power cut.
#include <gmock/gmock.h>

#include <set>

#include "io/sim/sim_loop.h"
#include "tests/io/disk/disk_bodies.h"
#include "tests/support/seeds.h"

namespace cellar::test {
namespace {

constexpr size_t kUnit = SparseBytes::kUnitBytes;

class CrashImage : public testing::Test {
 protected:
  template <class T>
  T run(Async<T> work) {
    return block_on(loop, std::move(work));
  }
  std::unique_ptr<File> create(const std::string& path, bool synced_name = true) {
    auto file = run(fs.open(path, creating()));
    EXPECT_TRUE(file);
    if (synced_name) {
      EXPECT_TRUE(run(fs.sync_dir("")));
    }
    return std::move(*file);
  }
  void write(File& file, uint64_t offset, std::string_view text, bool dsync = false) {
    EXPECT_TRUE(run(write_at(file, offset, as_byte_span(text), IoClass::log, dsync)));
  }
  void sync_file(File& file) { EXPECT_TRUE(run(sync(file, IoClass::log))); }
  std::unique_ptr<MemDisk> crash(CrashPolicy policy) { return disk.crash_image(policy, random); }
  std::string lost(const std::string& path) {
    auto content = crash(CrashPolicy::none)->read_all(path);
    return content ? *content : content.error().to_string();
  }

  ShardLoop loop;
  Random random{99};
  MemDisk disk;
  MemFs fs{loop.executor(), disk};
};

TEST_F(CrashImage, FileWithoutDirectorySyncIsMissing) {
  auto file = create("a", false);
  write(*file, 0, "hello", true);
  EXPECT_EQ(crash(CrashPolicy::none)->read_all("a").error().code, Errc::not_found);
  EXPECT_EQ(crash(CrashPolicy::all)->read_all("a"), "hello");
  ASSERT_TRUE(run(fs.sync_dir("")));
  EXPECT_EQ(lost("a"), "hello");
}

TEST_F(CrashImage, AppendedWithoutSyncIsLostAndTheSyncedPrefixStays) {
  auto file = create("a");
  write(*file, 0, std::string(2 * kUnit, 'x'));
  sync_file(*file);
  write(*file, 2 * kUnit, std::string(kUnit, 'y'));
  EXPECT_EQ(lost("a"), std::string(2 * kUnit, 'x'));
  EXPECT_EQ(crash(CrashPolicy::all)->read_all("a")->size(), 3 * kUnit);
}

TEST_F(CrashImage, AllocatedSpaceReadsAsZerosWhereTheWritesWereLost) {
  auto file = create("a");
  ASSERT_TRUE(run(file->allocate(0, 4 * kUnit)));
  sync_file(*file);
  write(*file, 0, std::string(kUnit, 'x'));
  EXPECT_EQ(lost("a"), std::string(4 * kUnit, '\0'));
}

TEST_F(CrashImage, DsyncWriteIsDurableAloneAndTakesTheSizeAlong) {
  auto file = create("a");
  write(*file, 0, std::string(kUnit, 'x'));
  write(*file, kUnit, std::string(kUnit, 'y'), true);
  EXPECT_EQ(lost("a"), std::string(kUnit, '\0') + std::string(kUnit, 'y'));
}

TEST_F(CrashImage, SyncCoversOnlyWritesThatHadCompletedBefore) {
  auto file = create("a");
  std::string text(kUnit, 'x');
  int left = 2;
  IoOp ops[2];
  for (IoOp& op : ops) {
    op.context = &left;
    op.done = [](IoOp& done) { --*static_cast<int*>(done.context); };
  }
  ops[0].kind = IoOp::Kind::write;
  ops[0].data = reinterpret_cast<std::byte*>(text.data());
  ops[0].size = text.size();
  ops[1].kind = IoOp::Kind::sync;
  file->submit(ops[0]);
  file->submit(ops[1]);
  while (left > 0) loop.turn(true);
  EXPECT_EQ(lost("a"), "");
  EXPECT_EQ(crash(CrashPolicy::all)->read_all("a"), text);
}

TEST_F(CrashImage, RenameAndRemovalWithoutDirectorySyncAreUndone) {
  auto a = create("a");
  write(*a, 0, "old", true);
  auto b = create("b");
  write(*b, 0, "new", true);
  ASSERT_TRUE(run(fs.rename("b", "a")));
  EXPECT_EQ(lost("a"), "old");
  EXPECT_EQ(lost("b"), "new");
  EXPECT_EQ(crash(CrashPolicy::all)->read_all("a"), "new");
  ASSERT_TRUE(run(fs.sync_dir("")));
  EXPECT_EQ(lost("a"), "new");
  EXPECT_THAT(crash(CrashPolicy::none)->all_files(), testing::ElementsAre("a"));
  ASSERT_TRUE(run(fs.remove("a")));
  EXPECT_EQ(lost("a"), "new");
  EXPECT_THAT(crash(CrashPolicy::all)->all_files(), testing::IsEmpty());
}

TEST_F(CrashImage, ReplacedFileIsOldOrNewInEveryImage) {
  ASSERT_TRUE(run(replace_file(fs, "CURRENT", "old")));
  // The temporary file is synced before the rename, so every image has the old or the new contents.
  auto work = replace_file(fs, "CURRENT", "new");
  bool done = false;
  spawn(loop.executor(), [&]() -> Async<void> {
    EXPECT_TRUE(co_await std::move(work));
    done = true;
  });
  std::set<std::string> seen;
  while (!done) {
    for (int i = 0; i < 20; ++i) {
      const auto content = crash(CrashPolicy::random_subset)->read_all("CURRENT");
      ASSERT_TRUE(content) << content.error().to_string();
      seen.insert(*content);
    }
    loop.turn(false);
  }
  EXPECT_EQ(lost("CURRENT"), "new");
  EXPECT_THAT(seen, testing::UnorderedElementsAre("old", "new"));
}

TEST_F(CrashImage, RandomSubsetKeepsWholeUnitsAndEveryCombinationComesUp) {
  auto file = create("a");
  write(*file, 0, std::string(3 * kUnit, 'o'));
  sync_file(*file);
  write(*file, 0, std::string(3 * kUnit, 'n'));
  std::set<std::string> seen;
  for (int i = 0; i < 200; ++i) {
    const auto content = crash(CrashPolicy::random_subset)->read_all("a");
    ASSERT_EQ(content->size(), 3 * kUnit);
    std::string pattern;
    for (size_t unit = 0; unit < 3; ++unit) {
      const std::string part = content->substr(unit * kUnit, kUnit);
      ASSERT_EQ(part, std::string(kUnit, part[0])) << "a unit is torn";
      pattern += part[0];
    }
    seen.insert(pattern);
  }
  EXPECT_EQ(seen.size(), 8u);
}

TEST_F(CrashImage, RandomSubsetLosesNamesOneByOne) {
  create("a", false);
  create("b", false);
  std::set<std::vector<std::string>> seen;
  for (int i = 0; i < 100; ++i) seen.insert(crash(CrashPolicy::random_subset)->all_files());
  EXPECT_EQ(seen.size(), 4u);
}

class InFlightWrite {
 public:
  InFlightWrite(File& file, std::string text) : text_(std::move(text)) {
    op_.kind = IoOp::Kind::write;
    op_.data = reinterpret_cast<std::byte*>(text_.data());
    op_.size = text_.size();
    op_.context = this;
    op_.done = [](IoOp& op) { static_cast<InFlightWrite*>(op.context)->done = true; };
    file.submit(op_);
  }
  bool done = false;

 private:
  std::string text_;
  IoOp op_;
};

TEST_F(CrashImage, TornLastWriteKeepsAProperPrefixOfUnits) {
  auto file = create("a");
  write(*file, 4 * kUnit, std::string(kUnit, 'k'));
  InFlightWrite write(*file, std::string(4 * kUnit, 'x'));
  std::set<size_t> kept;
  for (int i = 0; i < 100; ++i) {
    const auto content = crash(CrashPolicy::torn_last_write)->read_all("a");
    ASSERT_EQ(content->size(), 5 * kUnit);
    const size_t end = content->find('\0');
    ASSERT_EQ(end % kUnit, 0u);
    EXPECT_EQ(content->substr(4 * kUnit), std::string(kUnit, 'k'));
    kept.insert(end / kUnit);
  }
  EXPECT_THAT(kept, testing::ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(lost("a"), "");
  EXPECT_EQ(crash(CrashPolicy::all)->read_all("a")->substr(0, 4 * kUnit),
            std::string(4 * kUnit, 'x'));
  while (!write.done) loop.turn(true);
}

TEST_F(CrashImage, TornLastWriteTearsACompletedAppendWhenNothingIsInFlight) {
  auto file = create("a");
  write(*file, 0, std::string(kUnit, 'a'));
  write(*file, kUnit, std::string(3 * kUnit, 'b'));
  std::set<size_t> sizes;
  for (int i = 0; i < 100; ++i) {
    sizes.insert(crash(CrashPolicy::torn_last_write)->read_all("a")->size() / kUnit);
  }
  EXPECT_THAT(sizes, testing::ElementsAre(1, 2, 3));
  sync_file(*file);
  EXPECT_EQ(crash(CrashPolicy::torn_last_write)->read_all("a")->size(), 4 * kUnit);
}

TEST_F(CrashImage, FailedSyncLosesTheDirtyUnitsForGood) {
  FaultRules rules;
  ASSERT_TRUE(rules.add("sync drop"));
  auto base = std::make_unique<MemFs>(loop.executor(), disk);
  FaultyFs faulty(loop.executor(), std::move(base), rules);
  auto file = run(faulty.open("a", creating()));
  ASSERT_TRUE(run(faulty.sync_dir("")));
  write(**file, 0, std::string(kUnit, 'x'));
  EXPECT_FALSE(run(sync(**file, IoClass::log)));
  EXPECT_TRUE(run(sync(**file, IoClass::log))) << "the next one succeeds, as on Linux";
  EXPECT_EQ(disk.read_all("a"), std::string(kUnit, 'x')) << "reads still show it";
  EXPECT_EQ(crash(CrashPolicy::all)->read_all("a"), std::string(kUnit, '\0'));
}

TEST_F(CrashImage, ImageAndCloneAreIndependentOfTheDisk) {
  auto file = create("a");
  write(*file, 0, std::string(kUnit, 'x'), true);
  write(*file, kUnit, "tail");
  const auto image = crash(CrashPolicy::none);
  const auto twin = disk.clone();
  write(*file, 0, std::string(kUnit, 'y'), true);
  EXPECT_EQ(image->read_all("a"), std::string(kUnit, 'x'));
  EXPECT_EQ(twin->read_all("a"), std::string(kUnit, 'x') + "tail");
  EXPECT_EQ(twin->crash_image(CrashPolicy::none, random)->read_all("a"), std::string(kUnit, 'x'));
  ASSERT_TRUE(image->corrupt("a", 1, 0x01));
  EXPECT_EQ(image->read_all("a")->substr(0, 3), "xyx");
  EXPECT_EQ(disk.read_all("a")->substr(0, 3), "yyy");
}

TEST_F(CrashImage, BytesBeyondALostOrKeptEndNeverComeBack) {
  auto file = create("a");
  write(*file, 0, std::string(9 * kUnit, 'x'));
  sync_file(*file);
  ASSERT_TRUE(run(file->truncate(kUnit)));
  std::set<size_t> sizes;
  for (int i = 0; i < 100; ++i) {
    const auto image = crash(CrashPolicy::random_subset);
    sizes.insert(image->read_all("a")->size());
    MemFs after(loop.executor(), *image);
    auto again = run(after.open("a", writing()));
    const uint64_t size = *run((*again)->size());
    ASSERT_TRUE(run((*again)->truncate(20 * kUnit)));
    EXPECT_EQ(image->read_all("a")->find('x', size), std::string::npos);
  }
  EXPECT_EQ(lost("a"), std::string(9 * kUnit, 'x'));
  EXPECT_THAT(sizes, testing::Contains(kUnit));
  EXPECT_THAT(sizes, testing::Contains(9 * kUnit));
}

TEST_F(CrashImage, WriteAllOfATestIsDurableWhateverItsDirectory) {
  ASSERT_TRUE(run(fs.create_dir("d")));
  create("d/a", false);
  ASSERT_TRUE(run(fs.remove("d/a")));
  ASSERT_TRUE(disk.write_all("d/a", "text"));
  EXPECT_EQ(lost("d/a"), "text");
  ASSERT_TRUE(run(fs.sync_dir("d")));
  EXPECT_EQ(lost("d/a"), "text");
  EXPECT_FALSE(disk.write_all("nowhere/a", "text"));
}

TEST_F(CrashImage, GrowthBeyondTheLimitIsNoSpace) {
  disk.set_bytes_limit(8192);
  auto file = create("a");
  write(*file, 0, std::string(8192, 'x'));
  const std::string more = "y";
  const auto refused = run(write_at(*file, 8192, as_byte_span(more), IoClass::log));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::resource_exhausted);
  EXPECT_FALSE(run(file->allocate(0, 8193)));
  write(*file, 100, "overwriting needs no space");
  EXPECT_EQ(run(fs.free_bytes()), 0u);
  ASSERT_TRUE(run(fs.remove("a")));
  EXPECT_EQ(run(fs.free_bytes()), 8192u);
}

TEST_F(CrashImage, TwoFileSystemsShareTheDiskAndItsLocks) {
  MemFs other(loop.executor(), disk);
  create("a");
  EXPECT_TRUE(run(other.open("a", OpenOptions())));
  auto lock = run(fs.lock("LOCK"));
  ASSERT_TRUE(lock);
  EXPECT_EQ(run(other.lock("LOCK")).error().code, Errc::failed_precondition);
  lock->reset();
  EXPECT_TRUE(run(other.lock("LOCK")));
}

TEST_F(CrashImage, HaltedFileSystemForgetsWhatIsInFlight) {
  MemFs dying(loop.executor(), disk);
  auto file = run(dying.open("a", creating()));
  auto op = std::make_unique<InFlightWrite>(**file, std::string(kUnit, 'x'));
  dying.halt();
  op.reset();
  file->reset();
  for (int i = 0; i < 10; ++i) loop.turn(false);
  EXPECT_EQ(crash(CrashPolicy::all)->read_all("a"), "");
}

// The power loss of a simulated machine: the image is taken first, then the world is destroyed with
// everything that waits in it.
TEST(MemFsInSimWorldTest, CrashInTheMiddleOfWorkLeavesNothingBehind) {
  for (const uint64_t seed : test_seeds(30)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    MemDisk disk;
    std::unique_ptr<MemDisk> image;
    {
      SimWorld world(seed);
      SimLoop& loop = world.add_loop();
      MemFsOptions options;
      options.random = &world.random();
      options.timers = &loop.timers();
      options.max_latency_us = 500;
      MemFs fs(loop.executor(), disk, options);
      ASSERT_TRUE(world.block_on(loop, replace_file(fs, "CURRENT", "0")));
      int acknowledged = 0;
      spawn(loop.executor(), [&]() -> Async<void> {
        while (true) {
          const std::string next = std::to_string(acknowledged + 1);
          EXPECT_TRUE(co_await replace_file(fs, "CURRENT", next));
          ++acknowledged;
        }
      });
      world.run_for_us(static_cast<int64_t>(random.below(20'000)));
      image = disk.crash_image(CrashPolicy::random_subset, random);
      world.crash();
      const auto content = image->read_all("CURRENT");
      ASSERT_TRUE(content) << content.error().to_string();
      EXPECT_GE(std::stoi(*content), acknowledged);
      EXPECT_LE(std::stoi(*content), acknowledged + 1);
    }
    // The image can be used like any disk.
    SimWorld world(seed);
    SimLoop& loop = world.add_loop();
    MemFs fs(loop.executor(), *image);
    EXPECT_TRUE(world.block_on(loop, replace_file(fs, "CURRENT", "after")));
  }
}

TEST(MemFsInSimWorldTest, SameSeedCompletesInTheSameOrder) {
  std::vector<int> orders[3];
  for (size_t run = 0; run < 3; ++run) {
    SimWorld world(run == 2 ? 8 : 7);
    SimLoop& loop = world.add_loop();
    MemDisk disk;
    MemFsOptions options;
    options.random = &world.random();
    MemFs fs(loop.executor(), disk, options);
    auto file = world.block_on(loop, fs.open("a", creating()));
    ASSERT_TRUE(file);
    for (int i = 0; i < 20; ++i) {
      spawn(loop.executor(), [&orders, &file, run, i]() -> Async<void> {
        const std::string text = "x";
        const auto offset = static_cast<uint64_t>(i);
        EXPECT_TRUE(co_await write_at(**file, offset, as_byte_span(text), IoClass::log));
        orders[run].push_back(i);
      });
    }
    world.run_until_idle();
    ASSERT_EQ(orders[run].size(), 20u);
    ASSERT_TRUE(world.block_on(loop, (*file)->close()));
  }
  EXPECT_EQ(orders[0], orders[1]);
  EXPECT_NE(orders[0], orders[2]);
}

using CrashImageDeathTest = CrashImage;

TEST_F(CrashImageDeathTest, MisuseOfAFileAborts) {
  auto file = create("a");
  const auto overlap = [&] {
    InFlightWrite one(*file, "12345");
    InFlightWrite two(*file, "12345");
  };
  EXPECT_DEATH(overlap(), "overlap");
  const auto unaligned = [&] {
    auto direct = run(fs.open("d", creating(true)));
    InFlightWrite one(**direct, "12345");
  };
  EXPECT_DEATH(unaligned(), "not aligned to 4096");
  ASSERT_TRUE(run(file->close()));
  EXPECT_DEATH(InFlightWrite(*file, "12345"), "used after close");
}

}  // namespace
}  // namespace cellar::test
