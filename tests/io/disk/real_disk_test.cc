// Properties of the real implementations only: the probe, the error path of the ring, the lock
// between processes.
#include <gmock/gmock.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <latch>

#include "io/disk/io_engine.h"
#include "io/disk/uring_fs.h"
#include "tests/io/disk/disk_bodies.h"

namespace cellar::test {
namespace {

using testing::HasSubstr;

bool io_uring_here(std::string& why) { return Machine::available("io_uring", why); }

TEST(IoBackendTest, AutoFallsBackOnlyWhereTheRingIsForbidden) {
  const auto forbidden = probe_io_backend(IoBackend::automatic, [] { return -EPERM; });
  ASSERT_TRUE(forbidden);
  EXPECT_EQ(forbidden->chosen, IoBackend::threads);
  EXPECT_THAT(forbidden->reason, HasSubstr("io.backend = threads"));
  EXPECT_EQ(probe_io_backend(IoBackend::automatic, [] { return -ENOSYS; })->chosen,
            IoBackend::threads);
  EXPECT_EQ(probe_io_backend(IoBackend::automatic, [] { return -EINVAL; })->chosen,
            IoBackend::threads);
  EXPECT_EQ(probe_io_backend(IoBackend::automatic, [] { return 0; })->chosen, IoBackend::io_uring);
  const auto short_of_memory = probe_io_backend(IoBackend::automatic, [] { return -ENOMEM; });
  ASSERT_FALSE(short_of_memory);
  EXPECT_EQ(short_of_memory.error().code, Errc::resource_exhausted);
  EXPECT_THAT(short_of_memory.error().message, HasSubstr("RLIMIT_MEMLOCK"));
  const auto no_files = probe_io_backend(IoBackend::automatic, [] { return -EMFILE; });
  EXPECT_THAT(no_files.error().message, HasSubstr("RLIMIT_NOFILE"));
}

TEST(IoBackendTest, ExplicitRingThatIsForbiddenIsAnErrorWithItsCause) {
  const auto refused = probe_io_backend(IoBackend::io_uring, [] { return -EPERM; });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::failed_precondition);
  EXPECT_EQ(refused.error().os_error, EPERM);
  EXPECT_THAT(refused.error().message,
              testing::AnyOf(HasSubstr("seccomp"), HasSubstr("io_uring_disabled")));
  EXPECT_EQ(probe_io_backend(IoBackend::threads, [] { return -EPERM; })->chosen,
            IoBackend::threads);
}

TEST(IoBackendTest, NamesAreParsed) {
  EXPECT_EQ(parse_io_backend("auto"), IoBackend::automatic);
  EXPECT_EQ(parse_io_backend("io_uring"), IoBackend::io_uring);
  EXPECT_EQ(parse_io_backend("threads"), IoBackend::threads);
  EXPECT_THAT(parse_io_backend("aio").error().message, HasSubstr("'aio'"));
}

class OpenDirectoryTest : public testing::Test {
 protected:
  ~OpenDirectoryTest() override { pool.stop(); }
  Result<std::unique_ptr<FileSystem>> open(const std::string& path, bool create,
                                           const std::string& within) {
    return block_on(loop, open_directory(loop, pool, {path, {within}, create}));
  }
  TempDir dir;
  ShardLoop loop;
  BlockingPool pool{1};
};

TEST_F(OpenDirectoryTest, ALinkLeadsNowhereElse) {
  namespace fs = std::filesystem;
  const std::string allowed = dir.path() + "/allowed";
  const std::string outside = dir.path() + "/outside";
  fs::create_directories(allowed);
  fs::create_directories(outside);
  fs::create_directory_symlink(outside, allowed + "/out");
  fs::create_directory_symlink(outside + "/later", allowed + "/dangling");
  fs::create_directory_symlink("loop", allowed + "/loop");
  fs::create_directory_symlink(allowed, dir.path() + "/link_to_allowed");
  for (const char* way : {"/out", "/out/deeper/still"}) {
    const auto refused = open(allowed + way, true, allowed);
    ASSERT_FALSE(refused) << way;
    EXPECT_EQ(refused.error().code, Errc::permission_denied) << refused.error().message;
  }
  EXPECT_FALSE(open(allowed + "/dangling", true, allowed));
  EXPECT_FALSE(open(allowed + "/dangling/deeper", true, allowed));
  EXPECT_FALSE(open(allowed + "/loop/a", true, allowed));
  EXPECT_TRUE(fs::is_empty(outside)) << "nothing was made there";
  EXPECT_TRUE(open(allowed + "/n1/daily", true, allowed));
  EXPECT_TRUE(fs::is_directory(allowed + "/n1/daily"));
  EXPECT_TRUE(open(dir.path() + "/link_to_allowed/n1", false, dir.path() + "/link_to_allowed"))
      << "the operator may name a link";
  EXPECT_TRUE(open(allowed, false, allowed));
}

TEST_F(OpenDirectoryTest, OneThatIsNotThereIsMadeOnlyWhenAskedTo) {
  const std::string missing = dir.path() + "/missing/daily";
  const auto refused = open(missing, false, dir.path());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::not_found);
  EXPECT_FALSE(std::filesystem::exists(dir.path() + "/missing"));
  EXPECT_TRUE(open(missing, true, dir.path()));
  EXPECT_TRUE(std::filesystem::is_directory(missing));
}

// A hanging mount: only operations on it wait, and the loop keeps running.
TEST_F(OpenDirectoryTest, ACallThatHangsDoesNotHoldTheLoop) {
  std::latch thaw(1);
  struct Hung : BlockingPool::Job {
    std::latch* thaw = nullptr;
  } hung;
  hung.thaw = &thaw;
  hung.run = [](BlockingPool::Job& job) { static_cast<Hung&>(job).thaw->wait(); };
  pool.submit(hung);
  bool done = false;
  spawn(loop.executor(), [&]() -> Async<void> {
    const auto opened = co_await open_directory(loop, pool, {dir.path(), {dir.path()}, true});
    EXPECT_TRUE(opened);
    done = true;
  });
  for (int i = 0; i < 100; ++i) loop.turn(false);
  EXPECT_FALSE(done);
  thaw.count_down();
  while (!done) loop.turn(true);
}

// Runs in a child process and returns its exit code; -1 if it did not exit.
template <class Body>
int in_child(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

bool forbid_io_uring() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),  // the number of the system call
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter = {4, program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(IoBackendTest, SeccompProfileWithoutIoUringGetsThreads) {
  constexpr int kNoFilter = 77;
  const int code = in_child([] {
    if (!forbid_io_uring()) return kNoFilter;
    const auto choice = probe_io_backend(IoBackend::automatic);
    if (!choice || choice->chosen != IoBackend::threads) return 1;
    if (probe_io_backend(IoBackend::io_uring)) return 2;
    TempDir dir;
    ShardLoop loop;
    BlockingPool pool(1);
    auto fs = make_file_system(choice->chosen, loop, dir.path(), pool);
    if (!fs || !block_on(loop, replace_file(**fs, "a", "text"))) return 3;
    return block_on(loop, read_file(**fs, "a")) == "text" ? 0 : 4;
  });
  if (code == kNoFilter) GTEST_SKIP() << "this sandbox allows no seccomp filter";
  EXPECT_EQ(code, 0);
}

// However many operations of one class wait, the other classes find slots.
TEST(IoQueuesTest, EveryClassHasItsShareOfTheSlots) {
  constexpr int kSlots = 32;
  IoQueues queues(kSlots);
  std::vector<IoOp> ops(4 * kSlots);
  const auto start_all = [&queues](IoClass io_class) {
    int started = 0;
    for (IoOp* op = nullptr; queues.in_flight() < kSlots && (op = queues.pop()) != nullptr;) {
      EXPECT_EQ(op->io_class, io_class);
      ++started;
    }
    return started;
  };
  size_t next = 0;
  const auto queue = [&](IoClass io_class) {
    for (int i = 0; i < kSlots; ++i) {
      IoOp& op = ops[next++];
      op.io_class = io_class;
      queues.push(op);
    }
  };
  queue(IoClass::compaction);
  EXPECT_EQ(start_all(IoClass::compaction), kSlots / 8);
  queue(IoClass::flush);
  EXPECT_EQ(start_all(IoClass::flush), kSlots / 8);
  queue(IoClass::read);
  EXPECT_EQ(start_all(IoClass::read), kSlots * 3 / 4);
  EXPECT_EQ(queues.in_flight(), kSlots);
  queue(IoClass::log);
  queues.finished(ops[2 * kSlots]);  // a read; the log precedes the next one
  EXPECT_EQ(queues.pop()->io_class, IoClass::log);
}

TEST(IoQueuesTest, LogComesFirstAndCompactionIsBounded) {
  IoQueues queues;
  std::vector<IoOp> ops(20);
  for (size_t i = 0; i < ops.size(); ++i) {
    ops[i].io_class = i < 18 ? IoClass::compaction : IoClass::read;
    if (i == 19) ops[i].io_class = IoClass::log;
    queues.push(ops[i]);
  }
  EXPECT_EQ(queues.pop(), &ops[19]);
  EXPECT_EQ(queues.pop(), &ops[18]);
  for (int i = 0; i < IoQueues::kMaxCompactionInFlight; ++i) {
    EXPECT_EQ(queues.pop(), &ops[static_cast<size_t>(i)]);
  }
  EXPECT_EQ(queues.pop(), nullptr);
  EXPECT_FALSE(queues.may_start());
  EXPECT_FALSE(queues.empty());
  queues.finished(ops[0]);
  queues.push_front(ops[0]);
  EXPECT_EQ(queues.pop(), &ops[0]) << "an operation that is tried again keeps its place";
  EXPECT_EQ(queues.in_flight(), 10);
}

class UringTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (!io_uring_here(why)) GTEST_SKIP() << why;
    auto made = UringFs::create(loop, dir.path(), pool);
    ASSERT_TRUE(made) << made.error().to_string();
    fs = std::move(*made);
  }
  template <class T>
  T run(Async<T> work) {
    return block_on(loop, std::move(work));
  }

  TempDir dir;
  ShardLoop loop;
  BlockingPool pool{2};
  std::unique_ptr<UringFs> fs;
};

TEST_F(UringTest, ErrorOfTheKernelReachesTheWaiter) {
  RecordProperty("setup", std::string(fs->ring().ring()->setup()));
  auto file = run(fs->open("a", creating()));
  const std::string text = "text";
  for (const int err : {EIO, ENOSPC}) {
    fs->ring().inject_next_result(-err);
    const auto failed = run(write_at(**file, 0, as_byte_span(text), IoClass::log));
    if (failed || failed.error().os_error == EINVAL) {
      GTEST_SKIP() << "this kernel injects no results into NOPs";
    }
    EXPECT_EQ(failed.error().os_error, err);
    EXPECT_THAT(failed.error().message, HasSubstr("write of a at 0"));
  }
  EXPECT_TRUE(run(write_at(**file, 0, as_byte_span(text), IoClass::log, true)));
  EXPECT_EQ(run(read_file(*fs, "a")), "text");
  EXPECT_TRUE(run((*file)->close()));
}

TEST_F(UringTest, InterruptedOperationIsTriedAgain) {
  auto file = run(fs->open("a", creating()));
  const std::string text = "text";
  fs->ring().inject_next_result(-EINTR);
  EXPECT_TRUE(run(write_at(**file, 0, as_byte_span(text), IoClass::log)));
  EXPECT_TRUE(run((*file)->close()));
  EXPECT_EQ(run(read_file(*fs, "a")), "text");
}

TEST_F(UringTest, IdleLoopIsWokenByACompletion) {
  auto file = run(fs->open("a", creating(true)));
  AlignedBuffer buffer(kIoAlignment);
  const uint64_t turns_before = loop.turns();
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(run(write_at(**file, 0, buffer.span(), IoClass::log)));
  }
  EXPECT_TRUE(run((*file)->close()));
  RecordProperty("turns", static_cast<int>(loop.turns() - turns_before));
}

// Makes `op` read a byte of the pipe, which is empty.
void read_pipe(Uring& ring, IoOp& op, int fd, std::byte& into, bool& done) {
  op.kind = IoOp::Kind::read;
  op.fd = fd;
  op.data = &into;
  op.size = 1;
  op.context = &done;
  op.done = [](IoOp& o) { *static_cast<bool*>(o.context) = true; };
  ring.submit(op);
}

int64_t thread_cpu_us() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

// Even after a busy phase the loop sleeps while it waits for an operation that does not complete.
TEST_F(UringTest, ADeviceThatStandsStillCostsNoProcessorTime) {
  auto file = run(fs->open("a", creating(true)));
  AlignedBuffer buffer(kIoAlignment);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(run(write_at(**file, 0, buffer.span(), IoClass::log)));
  }
  EXPECT_TRUE(run((*file)->close()));
  std::array<int, 2> pipe = {};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  std::array<IoOp, 8> ops;
  std::array<std::byte, 8> bytes = {};
  std::array<bool, 8> done = {};
  for (size_t i = 0; i < ops.size(); ++i) {
    read_pipe(fs->ring(), ops[i], pipe[0], bytes[i], done[i]);
  }
  const int64_t before_us = thread_cpu_us();
  run(sleep_us(loop.timers(), 500'000));
  EXPECT_LT(thread_cpu_us() - before_us, 100'000);
  EXPECT_FALSE(done[0]);
  ASSERT_EQ(::write(pipe[1], "12345678", 8), 8);
  while (!std::ranges::all_of(done, [](bool d) { return d; })) loop.turn(true);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST_F(UringTest, WhereNothingIsInFlightTheFirstOperationGoesAtOnce) {
  std::array<int, 2> pipe = {};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  ASSERT_EQ(::write(pipe[1], "12", 2), 2);
  std::array<IoOp, 2> ops;
  std::array<std::byte, 2> bytes = {};
  std::array<bool, 2> done = {};
  for (size_t i = 0; i < ops.size(); ++i) {
    read_pipe(fs->ring(), ops[i], pipe[0], bytes[i], done[i]);
  }
  EXPECT_FALSE(done[0]) << "never told inside submit()";
  int left = 0;
  ASSERT_EQ(::ioctl(pipe[0], FIONREAD, &left), 0);
  EXPECT_EQ(left, 1) << "and the second goes with the turn";
  while (!done[0] || !done[1]) loop.turn(true);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST_F(UringTest, LockLivesUntilTheLastRingLetsGo) {
  ShardLoop other_loop;
  auto other = UringFs::create(other_loop, dir.path(), pool);
  ASSERT_TRUE(other);
  auto lock = run(fs->lock("LOCK"));
  ASSERT_TRUE(lock) << lock.error().to_string();
  ASSERT_TRUE((*other)->hold_lock(**lock));
  lock->reset();  // the descriptor is closed and removed from this shard's ring
  auto root = PosixDir::open_root(dir.path());
  for (int i = 0; i < 5; ++i) {
    auto tried = (*root)->try_lock("LOCK");
    ASSERT_TRUE(tried);
    EXPECT_FALSE(tried->fd.valid()) << "the other shard's ring must still hold the lock";
    ::usleep(10'000);
  }
  other->reset();
  const auto granted = run(fs->lock("LOCK"));
  EXPECT_TRUE(granted) << granted.error().to_string();
}

TEST_F(UringTest, RingHoldsAtMostSoManyLocks) {
  std::vector<std::unique_ptr<FileLock>> locks;
  for (int i = 0; i < Ring::kHeldFiles; ++i) {
    auto lock = run(fs->lock("LOCK" + std::to_string(i)));
    ASSERT_TRUE(lock);
    locks.push_back(std::move(*lock));
  }
  EXPECT_EQ(run(fs->lock("ONE_MORE")).error().code, Errc::resource_exhausted);
  locks.pop_back();
  EXPECT_TRUE(run(fs->lock("ONE_MORE")));
}

// A process that takes the lock, reports it through the pipe and sleeps until it is killed.
class Holder {
 public:
  Holder(const std::string& root, IoBackend backend) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    pid_ = ::fork();
    if (pid_ == 0) ::_exit(hold(root, backend, ends[1]));
    ::close(ends[1]);
    char ready = 0;
    EXPECT_EQ(::read(ends[0], &ready, 1), 1);
    ::close(ends[0]);
  }
  ~Holder() { kill_and_reap(); }
  void kill_and_reap() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
  }
  pid_t pid() const { return pid_; }

 private:
  static int hold(const std::string& root, IoBackend backend, int ready) {
    ShardLoop loop;
    BlockingPool pool(1);
    auto fs = make_file_system(backend, loop, root, pool);
    auto lock = block_on(loop, (*fs)->lock("LOCK"));
    if (!lock || ::write(ready, "r", 1) != 1) return 1;
    ::pause();
    return 0;
  }
  pid_t pid_ = -1;
};

class LockBetweenProcesses : public testing::TestWithParam<IoBackend> {};

TEST_P(LockBetweenProcesses, SecondProcessIsRefusedAndTheNextOneAfterAKillIsNot) {
  std::string why;
  if (GetParam() == IoBackend::io_uring && !io_uring_here(why)) GTEST_SKIP() << why;
  TempDir dir;
  Holder holder(dir.path(), GetParam());
  ShardLoop loop;
  BlockingPool pool(1);
  auto fs = make_file_system(GetParam(), loop, dir.path(), pool);
  ASSERT_TRUE(fs);
  const auto refused = block_on(loop, (*fs)->lock("LOCK"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::failed_precondition);
  EXPECT_THAT(refused.error().message, HasSubstr(std::to_string(holder.pid())));
  holder.kill_and_reap();
  const auto granted = block_on(loop, (*fs)->lock("LOCK"));
  EXPECT_TRUE(granted) << granted.error().to_string();
}

TEST_P(LockBetweenProcesses, RetriesUntilTheHolderIsGone) {
  std::string why;
  if (GetParam() == IoBackend::io_uring && !io_uring_here(why)) GTEST_SKIP() << why;
  TempDir dir;
  Holder holder(dir.path(), GetParam());
  ShardLoop loop;
  BlockingPool pool(1);
  auto fs = make_file_system(GetParam(), loop, dir.path(), pool);
  ASSERT_TRUE(fs);
  spawn(loop.executor(), [&]() -> Async<void> {
    co_await sleep_us(loop.timers(), 200'000);
    holder.kill_and_reap();
  });
  const auto granted = block_on(loop, (*fs)->lock("LOCK"));
  EXPECT_TRUE(granted) << granted.error().to_string();
}

INSTANTIATE_TEST_SUITE_P(Bodies, LockBetweenProcesses,
                         testing::Values(IoBackend::io_uring, IoBackend::threads),
                         [](const auto& info) { return std::string(io_backend_name(info.param)); });

}  // namespace
}  // namespace cellar::test
