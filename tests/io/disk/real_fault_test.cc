// Faults that the kernel itself gives to the real bodies: a full file system (a small tmpfs), short
// writes (RLIMIT_FSIZE), EIO of every operation (a file system that was shut down) and of syncs
// alone (seccomp). An error names the file and carries errno, nothing hangs, and what succeeded is
// there. Each test runs in a child process, because limits and filters stay.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>

#include "tests/io/disk/disk_bodies.h"

namespace cellar::test {
namespace {

constexpr int kSkipped = 77;

// Runs `body` in a child; returns its exit code.
int in_faulty_child(const std::function<int()>& body) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);  // a hang ends by a signal
    const int code = body();
    std::fflush(nullptr);
    ::_exit(code != 0 ? code : testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// One loop, one file system of a real implementation.
class Real {
 public:
  Real(IoBackend backend, const std::string& root) {
    auto made = make_file_system(backend, loop_, root, pool_);
    CHECK(made.has_value(), "no file system");
    fs_ = std::move(*made);
  }
  ~Real() {
    fs_.reset();
    pool_.stop();
  }
  template <class T>
  T run(Async<T> work) {
    return block_on(loop_, std::move(work));
  }
  FileSystem& fs() { return *fs_; }

 private:
  ShardLoop loop_;
  BlockingPool pool_{2};
  std::unique_ptr<FileSystem> fs_;
};

template <class T>
void expect_error(const Result<T>& result, int os_error, const std::string& file) {
  ASSERT_FALSE(result.has_value()) << "it succeeded";
  EXPECT_EQ(result.error().os_error, os_error) << result.error().to_string();
  EXPECT_NE(result.error().message.find(file), std::string::npos) << result.error().to_string();
}

class RealFault : public testing::TestWithParam<IoBackend> {
 protected:
  void SetUp() override {
    std::string why;
    if (!Machine::available(std::string(io_backend_name(GetParam())), why)) GTEST_SKIP() << why;
  }
  void play(const std::function<int()>& body, const char* needs) {
    const int code = in_faulty_child(body);
    if (code == kSkipped) GTEST_SKIP() << "needs " << needs;
    EXPECT_EQ(code, 0);
  }
};

TEST_P(RealFault, AFullFileSystemIsToldAndServesAgainWhenThereIsRoom) {
  play(
      [] {
        const TempDir dir;
        if (::unshare(CLONE_NEWNS) != 0 ||
            ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("t", dir.path().c_str(), "tmpfs", 0, "size=1m") != 0) {
          return kSkipped;
        }
        {
          Real real(GetParam(), dir.path());
          auto file = real.run(real.fs().open("full", creating()));
          const std::string piece(256 * 1024, 'x');
          Result<void> written;
          uint64_t at = 0;
          for (; written && at < (4u << 20); at += piece.size())
            written = real.run(write_at(**file, at, as_byte_span(piece), IoClass::log, true));
          expect_error(written, ENOSPC, "full");
          EXPECT_GE(at, 3 * piece.size());
          expect_error(real.run((*file)->allocate(0, 8u << 20)), ENOSPC, "full");
          auto other = real.run(real.fs().open("other", creating()));
          if (other) {
            expect_error(real.run(write_at(**other, 0, as_byte_span(piece), IoClass::flush)),
                         ENOSPC, "other");
            EXPECT_TRUE(real.run((*other)->close()));
          }
          std::string back(1000, '\0');
          EXPECT_EQ(
              *real.run(read_at(**file, 0, std::as_writable_bytes(std::span(back)), IoClass::read)),
              1000u);
          EXPECT_EQ(back, std::string(1000, 'x')) << "what was written is there";
          EXPECT_TRUE(real.run((*file)->truncate(1000)));
          EXPECT_TRUE(real.run(write_at(**file, 0, as_byte_span(piece), IoClass::log, true)));
          EXPECT_TRUE(real.run((*file)->close()));
        }
        ::umount2(dir.path().c_str(), MNT_DETACH);
        return 0;
      },
      "a mount namespace and tmpfs");
}

TEST_P(RealFault, AShortWriteIsContinuedAndThenFailsWhereTheLimitIs) {
  play(
      [] {
        const TempDir dir;
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{10'100, 10'100};
        if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return kSkipped;
        Real real(GetParam(), dir.path());
        auto file = real.run(real.fs().open("short", creating()));
        EXPECT_TRUE(file);
        const std::string text(8192, 'a');
        EXPECT_TRUE(real.run(write_at(**file, 0, as_byte_span(text), IoClass::log, true)));
        // The kernel takes 1,908 of these bytes.
        const std::string more(8192, 'b');
        expect_error(real.run(write_at(**file, 8192, as_byte_span(more), IoClass::log, true)),
                     EFBIG, "short");
        std::string back(10'100, '\0');
        EXPECT_EQ(
            *real.run(read_at(**file, 0, std::as_writable_bytes(std::span(back)), IoClass::read)),
            10'100u);
        EXPECT_EQ(back, text + more.substr(0, 10'100 - 8192)) << "the short part is in place";
        EXPECT_TRUE(real.run((*file)->close()));
        return 0;
      },
      "RLIMIT_FSIZE");
}

TEST_P(RealFault, AFileSystemThatIsGoneFailsEveryOperation) {
  play(
      [] {
        const TempDir dir;
        const std::string image = dir.path() + "/image";
        const std::string root = dir.path() + "/disk";
        std::filesystem::create_directory(root);
        const std::string make = fmt::format(
            "truncate -s 16M {0} && mkfs.ext4 -q -F {0} 2>/dev/null && mount -o loop {0} {1} "
            "2>/dev/null",
            image, root);
        if (::geteuid() != 0 || std::system(make.c_str()) != 0) return kSkipped;
        {
          Real real(GetParam(), root);
          auto file = real.run(real.fs().open("gone", creating()));
          EXPECT_TRUE(file);
          const std::string text(4096, 'a');
          EXPECT_TRUE(real.run(write_at(**file, 0, as_byte_span(text), IoClass::log, true)));
          const int fd = ::open(root.c_str(), O_RDONLY | O_CLOEXEC);
          uint32_t no_flush = 2;
          EXPECT_EQ(::ioctl(fd, _IOR('X', 125, uint32_t), &no_flush), 0);
          ::close(fd);
          expect_error(real.run(write_at(**file, 4096, as_byte_span(text), IoClass::log, true)),
                       EIO, "gone");
          expect_error(real.run(sync(**file, IoClass::flush)), EIO, "gone");
          EXPECT_FALSE(real.run(real.fs().open("new", creating())));
          EXPECT_FALSE(real.run(real.fs().rename("gone", "renamed")));
          EXPECT_FALSE(real.run(real.fs().sync_dir("")));
          EXPECT_TRUE(real.run((*file)->close()));
        }
        EXPECT_EQ(std::system(("umount " + root).c_str()), 0);
        return 0;
      },
      "root, a loop device and mkfs.ext4");
}

// Lets fdatasync and fsync fail with EIO in this process.
bool fail_syncs() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fdatasync, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fsync, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EIO),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter = {std::size(program), program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST_P(RealFault, AFailedSyncOfFileOrDirectoryIsNeverASuccess) {
  play(
      [] {
        const TempDir dir;
        if (!fail_syncs()) return kSkipped;
        Real real(GetParam(), dir.path());
        auto file = real.run(real.fs().open("a", creating()));
        EXPECT_TRUE(file);
        expect_error(real.run(real.fs().sync_dir("")), EIO, "directory");
        EXPECT_FALSE(real.run(replace_file(real.fs(), "b", "text"))) << "its name is not durable";
        // The filter sees no operations of a ring.
        if (GetParam() == IoBackend::threads) {
          expect_error(real.run(sync(**file, IoClass::log)), EIO, "a");
        }
        EXPECT_TRUE(real.run((*file)->close()));
        return 0;
      },
      "a seccomp filter");
}

INSTANTIATE_TEST_SUITE_P(Bodies, RealFault,
                         testing::Values(IoBackend::threads, IoBackend::io_uring),
                         [](const auto& info) { return std::string(io_backend_name(info.param)); });

}  // namespace
}  // namespace cellar::test
