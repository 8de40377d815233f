// Power cuts of a real file system under the load of the kill test: ext4 and XFS on a loop device
// are shut down (EXT4_IOC_SHUTDOWN, XFS_IOC_GOINGDOWN) without a flush of their journal, so that
// everything they had not made durable is gone, then mounted again. No acknowledged write may be
// lost and no row half applied. CELLAR_CUTS is the number of cuts of each file system, CELLAR_SEED
// the seed. Skipped without root, a loop device or the tools of the file system.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>

#include "io/base/random.h"
#include "tests/process/support/operate_bed.h"
#include "tests/process/support/writers.h"
#include "tests/support/seeds.h"

namespace cellar::process {
namespace {

constexpr int kWriters = 4;
// The same number for both file systems. 2: neither data nor journal is written out first.
constexpr auto kShutdown = _IOR('X', 125, uint32_t);
constexpr uint32_t kNoLogFlush = 2;
// XFS makes none below 300 MiB.
constexpr auto kSize = "320M";

class PowerCut : public Operate, public testing::WithParamInterface<const char*> {
 protected:
  PowerCut()
      : node_(bin() / "cellard", path("disk/data"),
              {"--shards", "2", "--memory-total", "128MiB", "--memory-memtable", "2MiB",
               "--log-segment", "4MiB", "--disk-reserve", "16MiB"}) {}

  void SetUp() override {
    std::string said;
    fs::create_directories(path("disk"));
    const std::string make =
        GetParam() == std::string("ext4") ? "mkfs.ext4 -q -F -m 0" : "mkfs.xfs -q -f";
    if (run(fmt::format("truncate -s {0} {1} && {2} {1}", kSize, path("image"), make), said) != 0 ||
        !mount(said)) {
      GTEST_SKIP() << "needs root, a loop device and " << make << ": " << said;
    }
  }
  void TearDown() override {
    node_.kill_now();
    std::string said;
    EXPECT_TRUE(!mounted_ || unmount(said)) << said;
  }
  bool mount(std::string& said) {
    mounted_ = run(fmt::format("mount -o loop {} {}", path("image"), path("disk")), said) == 0;
    return mounted_;
  }
  // The kernel completes operations of a killed process after its end.
  bool unmount(std::string& said) {
    for (int i = 0; mounted_ && i < 100; ++i) {
      if (run("umount " + path("disk"), said) == 0) mounted_ = false;
      if (mounted_) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return !mounted_;
  }
  // Returns errno; 0: the file system is off.
  int shut_down() const {
    const int fd = ::open(path("disk").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    uint32_t how = kNoLogFlush;
    const int failed = ::ioctl(fd, kShutdown, &how) == 0 ? 0 : errno;
    ::close(fd);
    return failed;
  }
  void cut(int64_t after_ms) {
    std::vector<std::thread> threads;
    for (Writer& writer : writers_) {
      threads.emplace_back([this, &writer] { writer.write_until_failure(node_.address(), 16); });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(after_ms));
    // This file is never synced. The test expects that the cut removes it.
    std::ofstream(path("disk/unsynced")) << "not durable";
    ASSERT_EQ(shut_down(), 0) << "the file system forbids a shutdown";
    node_.kill_now();
    for (auto& thread : threads) thread.join();
    std::string said;
    ASSERT_TRUE(unmount(said)) << said;
    ASSERT_TRUE(mount(said)) << said;
    forgotten_ += read_all(path("disk/unsynced")) == "not durable" ? 0 : 1;
    fs::remove(path("disk/unsynced"));
  }
  void restart_and_check() {
    const auto started = node_.start();
    ASSERT_TRUE(started) << started.error().message << "\n" << read_all(path("disk/data.log"));
    client::SyncClient client(options_of(node_));
    const auto wrong = check_promises(client, writers_);
    EXPECT_TRUE(wrong.empty()) << wrong.size() << " promises broken, the first: " << wrong.front();
  }

  bool mounted_ = false;
  cases::NodeProcess node_;
  std::vector<Writer> writers_;
  uint64_t forgotten_ = 0;
};

TEST_P(PowerCut, NoAcknowledgedWriteIsLostAndNoRowIsHalfApplied) {
  const uint64_t cuts = number_from_environment("CELLAR_CUTS", 10);
  const uint64_t seed = number_from_environment("CELLAR_SEED", entropy_seed());
  SCOPED_TRACE(fmt::format("CELLAR_SEED={} CELLAR_CUTS={}", seed, cuts));
  Random random(seed);
  ASSERT_TRUE(node_.start());
  ASSERT_TRUE(create_kill_table(node_.address()));
  for (int w = 0; w < kWriters; ++w) writers_.emplace_back(w);
  for (uint64_t i = 0; i < cuts && !HasFailure(); ++i) {
    cut(random.one_in(5) ? 400 + static_cast<int64_t>(random.below(500))
                         : 5 + static_cast<int64_t>(random.below(120)));
    if (HasFatalFailure()) return;
    restart_and_check();
  }
  uint64_t promised = 0;
  for (const Writer& writer : writers_) promised += writer.acknowledged();
  EXPECT_GT(promised, cuts) << "the load never got going";
  EXPECT_GT(forgotten_, 0u) << "no cut took anything: these are no power cuts";
  std::printf("%llu cuts of %s, %llu rows promised, %llu cuts took an unsynced file\n",
              static_cast<unsigned long long>(cuts), GetParam(),
              static_cast<unsigned long long>(promised),
              static_cast<unsigned long long>(forgotten_));
}

INSTANTIATE_TEST_SUITE_P(FileSystems, PowerCut, testing::Values("ext4", "xfs"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace cellar::process
