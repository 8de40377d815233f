// One suite for every implementation of FileSystem.
#include <gmock/gmock.h>

#include "tests/io/disk/disk_bodies.h"

namespace cellar::test {
namespace {

using testing::HasSubstr;

class DiskConformance : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::string why;
    if (!Machine::available(GetParam(), why)) GTEST_SKIP() << why;
    machine.emplace(GetParam());
  }
  Machine& m() { return *machine; }
  FileSystem& fs() { return machine->fs(); }

  std::vector<std::string> names(const std::string& path) {
    auto entries = m().run(fs().list(path));
    EXPECT_TRUE(entries) << entries.error().to_string();
    std::vector<std::string> result;
    for (const DirEntry& entry : *entries) result.push_back(entry.name + (entry.is_dir ? "/" : ""));
    return result;
  }

  std::optional<Machine> machine;
};

TEST_P(DiskConformance, ReadsBackWhatWasWritten) {
  auto file = m().open("a", creating());
  ASSERT_TRUE(m().write(*file, 0, "hello"));
  ASSERT_TRUE(m().write(*file, 5, " world", true));
  EXPECT_EQ(m().read(*file, 0, 11), "hello world");
  EXPECT_EQ(m().read(*file, 6, 3), "wor");
  EXPECT_EQ(m().run(file->size()), 11u);
  EXPECT_TRUE(m().run(sync(*file, IoClass::log)));
  m().close(*file);
  auto again = m().open("a", OpenOptions());
  EXPECT_EQ(m().read(*again, 0, 11), "hello world");
  m().close(*again);
}

TEST_P(DiskConformance, ReadEndsAtTheEndOfTheFile) {
  auto file = m().open("a", creating());
  ASSERT_TRUE(m().write(*file, 0, "12345"));
  EXPECT_EQ(m().read(*file, 3, 100), "45");
  EXPECT_EQ(m().read(*file, 5, 10), "");
  EXPECT_EQ(m().read(*file, 1 << 20, 10), "");
  m().close(*file);
}

TEST_P(DiskConformance, HolesAndAllocatedSpaceReadAsZeros) {
  auto file = m().open("a", creating());
  ASSERT_TRUE(m().write(*file, 10'000, "x"));
  EXPECT_EQ(m().read(*file, 9'998, 3), std::string("\0\0x", 3));
  ASSERT_TRUE(m().run(file->allocate(0, 20'000)));
  EXPECT_EQ(m().run(file->size()), 20'000u);
  EXPECT_EQ(m().read(*file, 10'000, 3), std::string("x\0\0", 3));
  ASSERT_TRUE(m().run(file->allocate(0, 100)));
  EXPECT_EQ(m().run(file->size()), 20'000u);
  m().close(*file);
}

TEST_P(DiskConformance, TruncatedBytesDoNotComeBack) {
  auto file = m().open("a", creating());
  ASSERT_TRUE(m().write(*file, 0, std::string(5000, 'x')));
  ASSERT_TRUE(m().run(file->truncate(3)));
  ASSERT_TRUE(m().run(file->truncate(6)));
  EXPECT_EQ(m().read(*file, 0, 100), std::string("xxx\0\0\0", 6));
  m().close(*file);
}

TEST_P(DiskConformance, DirectFileTransfersAlignedBlocks) {
  auto file = m().open("a", creating(true));
  const size_t alignment = file->alignment();
  ASSERT_GT(alignment, 0u);
  ASSERT_EQ(kIoAlignment % alignment, 0u);
  AlignedBuffer buffer(16 * kIoAlignment);
  Random random(7);
  for (std::byte& b : buffer.span()) b = static_cast<std::byte>(random.next());
  ASSERT_TRUE(m().run(write_at(*file, kIoAlignment, buffer.span(), IoClass::flush, true)));
  AlignedBuffer back(32 * kIoAlignment);
  auto got = m().run(read_at(*file, kIoAlignment, back.span(), IoClass::read));
  ASSERT_TRUE(got) << got.error().to_string();
  EXPECT_EQ(*got, buffer.size());
  EXPECT_EQ(back.bytes(0, buffer.size()), buffer.bytes(0, buffer.size()));
  ASSERT_TRUE(m().run(file->truncate(2 * kIoAlignment + 17)));
  got = m().run(read_at(*file, 2 * kIoAlignment, back.span(), IoClass::read));
  EXPECT_EQ(got, 17u);
  m().close(*file);
}

TEST_P(DiskConformance, OpenTellsMissingFromExisting) {
  const auto missing = m().run(fs().open("nowhere", OpenOptions()));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::not_found);
  EXPECT_THAT(missing.error().message, HasSubstr("nowhere"));
  m().close(*m().open("a", creating()));
  const auto twice = m().run(fs().open("a", creating()));
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, Errc::already_exists);
  const auto no_dir = m().run(fs().open("d/a", creating()));
  ASSERT_FALSE(no_dir);
  EXPECT_EQ(no_dir.error().code, Errc::not_found);
  ASSERT_TRUE(m().run(fs().create_dir("d")));
  EXPECT_FALSE(m().run(fs().open("d", OpenOptions())));
}

TEST_P(DiskConformance, PathsThatLeaveTheRootAreRefused) {
  for (const std::string path : {"../a", "/a", "a/../b", "a//b", "./a", "a/"}) {
    const auto file = m().run(fs().open(path, creating()));
    ASSERT_FALSE(file) << path;
    EXPECT_EQ(file.error().code, Errc::invalid_argument) << path;
    EXPECT_EQ(m().run(fs().remove(path)).error().code, Errc::invalid_argument) << path;
  }
}

TEST_P(DiskConformance, DirectoriesListTheirNamesInOrder) {
  ASSERT_TRUE(m().run(fs().create_dir("wal")));
  ASSERT_TRUE(m().run(fs().create_dir("wal")));
  ASSERT_TRUE(m().run(fs().create_dir("wal/old")));
  for (const std::string name : {"wal/2", "wal/10", "wal/1"})
    m().close(*m().open(name, creating()));
  EXPECT_THAT(names("wal"), testing::ElementsAre("1", "10", "2", "old/"));
  EXPECT_THAT(names(""), testing::Contains("wal/"));
  ASSERT_TRUE(m().run(fs().sync_dir("wal")));
  ASSERT_TRUE(m().run(fs().sync_dir("")));
  EXPECT_EQ(m().run(fs().list("nowhere")).error().code, Errc::not_found);
  EXPECT_EQ(m().run(fs().sync_dir("nowhere")).error().code, Errc::not_found);
}

TEST_P(DiskConformance, RenameReplacesAndRemoveRemoves) {
  auto a = m().open("a", creating());
  ASSERT_TRUE(m().write(*a, 0, "new"));
  m().close(*a);
  auto b = m().open("b", creating());
  ASSERT_TRUE(m().write(*b, 0, "old"));
  ASSERT_TRUE(m().run(fs().rename("a", "b")));
  EXPECT_EQ(m().run(read_file(fs(), "b")), "new");
  EXPECT_EQ(m().read(*b, 0, 3), "old") << "an open file outlives its name";
  m().close(*b);
  EXPECT_EQ(m().run(fs().rename("a", "c")).error().code, Errc::not_found);
  ASSERT_TRUE(m().run(fs().remove("b")));
  EXPECT_EQ(m().run(fs().remove("b")).error().code, Errc::not_found);
  EXPECT_THAT(names(""), testing::IsEmpty());
}

TEST_P(DiskConformance, EmptyDirectoryIsRemovedAndAFullOneStays) {
  ASSERT_TRUE(m().run(fs().create_dir("d")));
  m().close(*m().open("d/a", creating()));
  EXPECT_FALSE(m().run(fs().remove("d")));
  ASSERT_TRUE(m().run(fs().remove("d/a")));
  EXPECT_TRUE(m().run(fs().remove("d")));
  EXPECT_THAT(names(""), testing::IsEmpty());
}

TEST_P(DiskConformance, ReplaceFileMakesWayForALeftOverTemporary) {
  m().close(*m().open("CURRENT.tmp", creating()));
  ASSERT_TRUE(m().run(replace_file(fs(), "CURRENT", "one")));
  ASSERT_TRUE(m().run(replace_file(fs(), "CURRENT", "number two")));
  EXPECT_EQ(m().run(read_file(fs(), "CURRENT")), "number two");
  EXPECT_THAT(names(""), testing::ElementsAre("CURRENT"));
  EXPECT_EQ(m().run(read_file(fs(), "nowhere")).error().code, Errc::not_found);
}

// Many operations at once, more than any implementation submits to the kernel.
struct Burst {
  static constexpr int kOps = 500;
  static constexpr size_t kSize = 512;
  std::vector<IoOp> ops{kOps};
  std::vector<std::string> texts;
  int left = kOps;
  bool inside_submit = false;
  bool called_inside = false;

  void submit_all(File& file, IoOp::Kind kind, ShardLoop& loop) {
    left = kOps;
    for (int i = 0; i < kOps; ++i) {
      IoOp& op = ops[static_cast<size_t>(i)];
      op = IoOp();
      op.kind = kind;
      op.io_class = static_cast<IoClass>(i % 4);
      op.offset = static_cast<uint64_t>(i) * kSize;
      op.data = reinterpret_cast<std::byte*>(texts[static_cast<size_t>(i)].data());
      op.size = kSize;
      op.context = this;
      op.done = [](IoOp& done) {
        auto* burst = static_cast<Burst*>(done.context);
        burst->called_inside |= burst->inside_submit;
        --burst->left;
      };
      inside_submit = true;
      file.submit(op);
      inside_submit = false;
    }
    while (left > 0) loop.turn(true);
  }
};

class DiskConformanceWholeTransfers : public DiskConformance {};
TEST_P(DiskConformanceWholeTransfers, ManyOperationsAtOnceAllCompleteFromTheLoop) {
  auto file = m().open("a", creating());
  Burst burst;
  Random random(5);
  for (int i = 0; i < Burst::kOps; ++i) burst.texts.push_back(random_text(random, Burst::kSize));
  const auto written = burst.texts;
  burst.submit_all(*file, IoOp::Kind::write, m().loop());
  for (const IoOp& op : burst.ops) ASSERT_EQ(op.result, int64_t{Burst::kSize});
  for (std::string& text : burst.texts) text.assign(Burst::kSize, '?');
  burst.submit_all(*file, IoOp::Kind::read, m().loop());
  EXPECT_EQ(burst.texts, written);
  EXPECT_FALSE(burst.called_inside);
  m().close(*file);
}

TEST_P(DiskConformance, FreeSpaceIsKnown) {
  const auto free = m().run(fs().free_bytes());
  ASSERT_TRUE(free);
  EXPECT_GT(*free, 0u);
}

TEST_P(DiskConformance, LockIsExclusiveUntilReleased) {
  auto first = m().run(fs().lock("LOCK"));
  ASSERT_TRUE(first) << first.error().to_string();
  const auto second = m().run(fs().lock("LOCK"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::failed_precondition);
  EXPECT_THAT(second.error().message, HasSubstr("LOCK"));
  if (m().real_files()) {
    EXPECT_THAT(second.error().message, HasSubstr(std::to_string(::getpid())));
  }
  first->reset();
  const auto third = m().run(fs().lock("LOCK"));
  EXPECT_TRUE(third) << third.error().to_string();
}

class DiskConformanceOfRealFiles : public DiskConformance {};
TEST_P(DiskConformanceOfRealFiles, SymbolicLinksAreNotFollowed) {
  std::filesystem::create_symlink("/etc", m().root() + "/link");
  EXPECT_FALSE(m().run(fs().open("link/hostname", OpenOptions())));
  std::filesystem::create_symlink("/etc/hostname", m().root() + "/file");
  EXPECT_FALSE(m().run(fs().open("file", OpenOptions())));
}

TEST_P(DiskConformanceOfRealFiles, FilesAreForTheOwnerOnly) {
  m().close(*m().open("a", creating()));
  ASSERT_TRUE(m().run(fs().create_dir("d")));
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(m().root() + "/a").permissions(),
            perms::owner_read | perms::owner_write);
  EXPECT_EQ(std::filesystem::status(m().root() + "/d").permissions(), perms::owner_all);
}

std::string body_name(const testing::TestParamInfo<std::string>& info) { return info.param; }

INSTANTIATE_TEST_SUITE_P(Bodies, DiskConformance,
                         testing::Values("io_uring", "threads", "memory", "shuffled_memory",
                                         "slow_memory", "checked_memory", "short_memory",
                                         "traced_memory", "checked_io_uring", "short_io_uring",
                                         "short_threads"),
                         body_name);
// The implementations in which one operation transfers all its bytes.
INSTANTIATE_TEST_SUITE_P(Bodies, DiskConformanceWholeTransfers,
                         testing::Values("io_uring", "threads", "memory", "shuffled_memory",
                                         "slow_memory", "checked_io_uring", "traced_memory"),
                         body_name);
INSTANTIATE_TEST_SUITE_P(Bodies, DiskConformanceOfRealFiles,
                         testing::Values("io_uring", "threads", "checked_io_uring"), body_name);

}  // namespace
}  // namespace cellar::test
