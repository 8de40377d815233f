// The implementations for real files in a traced process: when they say that bytes or a name are
// durable, the system calls that make them so have ended. Each step of the traced process ends with
// a mark: "durable" demands that a power cut could take nothing, "pending" that it could take
// something, which shows that the trace sees it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/io/disk/disk_bodies.h"
#include "tests/support/trace/durability_watch.h"

namespace cellar::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Step {
  std::string mark;  // "durable NAME" or "pending NAME"
  std::vector<std::string> pending;
};

void mark(const std::string& text) {
  CHECK(::write(DurabilityWatch::kMarkFd, text.data(), text.size()) > 0, "no descriptor of marks");
}

// Runs `body(root)` traced and returns its steps; no value if the machine forbids tracing.
template <class Body>
std::optional<std::vector<Step>> steps_of(const Body& body) {
  const TempDir dir;
  DurabilityWatch watch(std::filesystem::canonical(dir.path()) / "root");
  const std::string root = dir.path() + "/root";
  std::filesystem::create_directory(root);
  std::vector<Step> steps;
  watch.on_mark = [&](const std::string& text) {
    steps.push_back({text, watch.ledger().pending()});
  };
  const auto code = run_traced(
      [&] {
        const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (::dup2(null, DurabilityWatch::kMarkFd) < 0) return 2;
        body(root);
        return testing::Test::HasFailure() ? 1 : 0;
      },
      watch);
  if (!code) return std::nullopt;
  EXPECT_EQ(*code, 0);
  EXPECT_THAT(watch.unknown(), IsEmpty());
  return steps;
}

void judge(const std::vector<Step>& steps, size_t expected) {
  EXPECT_EQ(steps.size(), expected);
  for (const Step& step : steps) {
    if (step.mark.starts_with("durable")) {
      EXPECT_THAT(step.pending, IsEmpty()) << step.mark;
    } else {
      EXPECT_FALSE(step.pending.empty()) << step.mark << ": the trace saw nothing";
    }
  }
}

constexpr const char* kNoTrace = "this machine forbids a process to trace its children (ptrace)";

// One loop, one file system of a real implementation, in the traced process.
class Traced {
 public:
  Traced(IoBackend backend, const std::string& root) {
    auto made = make_file_system(backend, loop_, root, pool_);
    CHECK(made.has_value(), "no file system");
    fs_ = std::move(*made);
  }
  ~Traced() {
    fs_.reset();
    pool_.stop();
  }
  template <class T>
  T run(Async<Result<T>> work) {
    auto result = block_on(loop_, std::move(work));
    CHECK(result.has_value(), "an operation failed: {}", result.error().to_string());
    if constexpr (!std::is_void_v<T>) return std::move(*result);
  }
  FileSystem& fs() { return *fs_; }
  ShardLoop& loop() { return loop_; }
  void write(File& file, uint64_t offset, std::string_view text, bool dsync, IoClass io_class) {
    run(write_at(file, offset, as_byte_span(text), io_class, dsync));
  }

 private:
  ShardLoop loop_;
  BlockingPool pool_{2};
  std::unique_ptr<FileSystem> fs_;
};

class DurabilityTest : public testing::TestWithParam<IoBackend> {
 protected:
  void SetUp() override {
    std::string why;
    if (!Machine::available(std::string(io_backend_name(GetParam())), why)) GTEST_SKIP() << why;
  }
};

TEST_P(DurabilityTest, BytesAreDurableWhenAWriteWithDsyncOrASyncReturns) {
  const auto steps = steps_of([](const std::string& root) {
    Traced t(GetParam(), root);
    auto file = t.run(t.fs().open("a", creating()));
    t.run(t.fs().sync_dir(""));
    mark("durable file");
    for (const IoClass io_class : {IoClass::log, IoClass::flush, IoClass::compaction}) {
      t.write(*file, 0, "with dsync", true, io_class);
      mark("durable write with dsync");
      t.write(*file, 100, "without", false, io_class);
      mark("pending write without");
      t.run(sync(*file, io_class));
      mark("durable sync");
    }
    t.run(file->truncate(5));
    mark("pending truncation");
    t.run(sync(*file, IoClass::log));
    mark("durable truncation");
    t.run(file->allocate(0, 8192));
    mark("pending reservation");
    t.run(sync(*file, IoClass::log));
    mark("durable reservation");
    t.run(file->close());
  });
  if (!steps) GTEST_SKIP() << kNoTrace;
  judge(*steps, 14);
}

TEST_P(DurabilityTest, DirectWritesAreDurableToo) {
  const auto steps = steps_of([](const std::string& root) {
    Traced t(GetParam(), root);
    auto file = t.run(t.fs().open("a", creating(true)));
    t.run(t.fs().sync_dir(""));
    const AlignedBuffer block(kIoAlignment);
    t.run(write_at(*file, 0, block.span(), IoClass::log, true));
    mark("durable write with dsync");
    t.run(write_at(*file, kIoAlignment, block.span(), IoClass::flush));
    mark("pending write without");
    t.run(sync(*file, IoClass::flush));
    mark("durable sync");
    t.run(file->close());
  });
  if (!steps) GTEST_SKIP() << kNoTrace;
  judge(*steps, 3);
}

// Many at once: more than one submission of a ring, and threads side by side.
TEST_P(DurabilityTest, ManyWritesWithDsyncAtOnceAreDurableWhenTheLastOneReturns) {
  const auto steps = steps_of([](const std::string& root) {
    Traced t(GetParam(), root);
    std::vector<std::unique_ptr<File>> files;
    for (int i = 0; i < 20; ++i) files.push_back(t.run(t.fs().open(std::to_string(i), creating())));
    t.run(t.fs().sync_dir(""));
    mark("durable files");
    for (const auto& file : files) t.write(*file, 0, "text", false, IoClass::flush);
    mark("pending writes");
    const auto all = [&](auto start) {
      auto left = files.size();
      const auto one = [&](File& file) -> Async<void> {
        CHECK((co_await start(file)).has_value(), "an operation failed");
        --left;
      };
      for (const auto& file : files) spawn(t.loop().executor(), [&] { return one(*file); });
      while (left > 0) t.loop().turn(true);
    };
    all([](File& file) { return sync(file, IoClass::log); });
    mark("durable after syncs");
    all([](File& file) {
      return write_at(file, 4, as_byte_span(std::string_view("more")), IoClass::log, true);
    });
    mark("durable after writes with dsync");
    for (const auto& file : files) t.run(file->close());
  });
  if (!steps) GTEST_SKIP() << kNoTrace;
  judge(*steps, 4);
}

TEST_P(DurabilityTest, NamesAreDurableWhenTheSyncOfTheirDirectoryReturns) {
  const auto steps = steps_of([](const std::string& root) {
    Traced t(GetParam(), root);
    t.run(t.fs().create_dir("d"));
    mark("pending directory");
    t.run(t.fs().sync_dir(""));
    mark("durable directory");
    t.run(t.run(t.fs().open("d/a", creating()))->close());
    mark("pending creation");
    t.run(t.fs().sync_dir(""));
    mark("pending creation: the sync of another directory");
    t.run(t.fs().sync_dir("d"));
    mark("durable creation");
    t.run(t.fs().rename("d/a", "b"));
    mark("pending rename");
    t.run(t.fs().sync_dir(""));
    mark("pending rename: the directory that had the name");
    t.run(t.fs().sync_dir("d"));
    mark("durable rename");
    t.run(t.fs().remove("b"));
    mark("pending removal");
    t.run(t.fs().sync_dir(""));
    mark("durable removal");
    t.run(t.fs().remove("d"));
    mark("pending removal of a directory");
    t.run(t.fs().sync_dir(""));
    mark("durable removal of a directory");
  });
  if (!steps) GTEST_SKIP() << kNoTrace;
  judge(*steps, 12);
}

TEST_P(DurabilityTest, AReplacedFileIsDurableWhenTheCallReturns) {
  const auto steps = steps_of([](const std::string& root) {
    Traced t(GetParam(), root);
    t.run(replace_file(t.fs(), "CURRENT", "one"));
    mark("durable first");
    t.run(t.fs().create_dir("d"));
    t.run(t.fs().sync_dir(""));
    t.run(replace_file(t.fs(), "d/STATE", "one"));
    t.run(replace_file(t.fs(), "d/STATE", "number two"));
    mark("durable second");
  });
  if (!steps) GTEST_SKIP() << kNoTrace;
  judge(*steps, 2);
}

INSTANTIATE_TEST_SUITE_P(Bodies, DurabilityTest,
                         testing::Values(IoBackend::io_uring, IoBackend::threads),
                         [](const auto& info) { return std::string(io_backend_name(info.param)); });

// The names of a new root, with those of its parents.
TEST(RootDurabilityTest, ANewRootDirectoryIsDurableWhenTheCallReturns) {
  const auto steps = steps_of([](const std::string& root) {
    CHECK(make_root_directory(root + "/data/deeper").has_value(), "no root directory");
    mark("durable root");
    CHECK(make_root_directory(root + "/data/deeper").has_value(), "no root directory");
    mark("durable root again");
  });
  if (!steps) GTEST_SKIP() << kNoTrace;
  judge(*steps, 2);
}

// The test itself: raw calls without the sync are found.
TEST(DurabilityWatchTest, MissingSyncsAreFound) {
  const auto steps = steps_of([](const std::string& root) {
    const int file = ::open((root + "/a").c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    mark("created");
    const int directory = ::open(root.c_str(), O_RDONLY | O_DIRECTORY);
    CHECK(::fsync(directory) == 0, "fsync");
    mark("creation synced");
    CHECK(::pwrite(file, "text", 4, 0) == 4, "pwrite");
    mark("written");
    CHECK(::fsync(directory) == 0, "fsync");
    mark("wrong sync");
    CHECK(::fdatasync(file) == 0, "fdatasync");
    mark("synced");
    CHECK(::rename((root + "/a").c_str(), (root + "/b").c_str()) == 0, "rename");
    mark("renamed");
    ::close(directory);
    ::close(file);
  });
  if (!steps) GTEST_SKIP() << kNoTrace;
  ASSERT_EQ(steps->size(), 6u);
  EXPECT_THAT((*steps)[0].pending, ElementsAre(HasSubstr("creation is not synced")));
  EXPECT_THAT((*steps)[1].pending, IsEmpty());
  EXPECT_THAT((*steps)[2].pending, ElementsAre(HasSubstr("bytes from 0, not synced")));
  EXPECT_THAT((*steps)[3].pending, ElementsAre(HasSubstr("bytes from 0, not synced")));
  EXPECT_THAT((*steps)[4].pending, IsEmpty());
  EXPECT_THAT((*steps)[5].pending, ElementsAre(HasSubstr("renaming from")));
}

TEST(DurabilityLedgerTest, ASyncCoversOnlyWhatWasOverBeforeIt) {
  DurabilityLedger ledger;
  ledger.look_for("secret");
  const FileId file{1, 1};
  const FileId directory{1, 2};
  ledger.name_changed(directory, "/r/a", "creation");
  const uint64_t write = ledger.begin_write(file, "/r/a", 0, 10, false, "a secret.");
  const uint64_t early = ledger.begin_sync(file);
  ledger.end(write, 10);
  ledger.end(early, 0);
  EXPECT_THAT(ledger.missing_of("secret"), HasSubstr("not synced"));
  const uint64_t failed = ledger.begin_sync(file);
  ledger.end(failed, -EIO);
  EXPECT_THAT(ledger.missing_of("secret"), HasSubstr("not synced"));
  ledger.end(ledger.begin_sync(file), 0);
  EXPECT_THAT(ledger.missing_of("secret"), HasSubstr("creation is not synced"));
  ledger.end(ledger.begin_sync(directory), 0);
  EXPECT_EQ(ledger.missing_of("secret"), "");
  EXPECT_EQ(ledger.missing_of("other"), "no write has it");
  EXPECT_THAT(ledger.pending(), IsEmpty());
  ledger.removed(directory, "/r/a");
  EXPECT_EQ(ledger.missing_of("secret"), "no write has it");
}

TEST(DurabilityLedgerTest, ATextCountsUntilItIsOverwrittenOrItsFileIsToBe) {
  DurabilityLedger ledger;
  ledger.look_for("secret");
  const FileId file{1, 1};
  const FileId directory{1, 2};
  const auto write = [&](uint64_t offset, std::string_view text) {
    ledger.end(ledger.begin_write(file, "/r/a", offset, text.size(), true, text),
               static_cast<int64_t>(text.size()));
  };
  write(100, "a secret.");
  write(100, "a secret. And more");
  write(0, "elsewhere");
  EXPECT_EQ(ledger.missing_of("secret"), "");
  write(104, "x");
  EXPECT_EQ(ledger.missing_of("secret"), "no write has it");
  write(200, "secret");
  ledger.renamed(directory, directory, "/r/a", "/r/b.tmp");
  ledger.end(ledger.begin_sync(directory), 0);
  EXPECT_EQ(ledger.missing_of("secret"), "no write has it");
}

TEST(DurabilityLedgerTest, AFailedWriteIsNeverDurable) {
  DurabilityLedger ledger;
  const FileId file{1, 1};
  ledger.end(ledger.begin_write(file, "/r/a", 0, 10, true), -EIO);
  ledger.end(ledger.begin_sync(file), 0);
  EXPECT_THAT(ledger.pending(), ElementsAre(HasSubstr("failed")));
}

}  // namespace
}  // namespace cellar::test
