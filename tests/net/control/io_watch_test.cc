// A hanging disk: detected within the bound, logged once at its beginning and once at its end.
#include "net/server/control/io_watch.h"

#include <gtest/gtest.h>

#include "net/server/control/readiness.h"

namespace cellar::server {
namespace {

constexpr int64_t kBeatUs = Readiness::kBeatUs;

// A file system that only reports the age of its oldest operation.
class HangingFs final : public FileSystem {
 public:
  int64_t oldest_io_us(int64_t now_us) override { return since_us_ == 0 ? 0 : now_us - since_us_; }
  void hang(int64_t since_us) { since_us_ = since_us; }

  Async<Result<std::unique_ptr<File>>> open(std::string, OpenOptions) override { co_return no(); }
  Async<Result<void>> remove(std::string) override { co_return no(); }
  Async<Result<void>> rename(std::string, std::string) override { co_return no(); }
  Async<Result<void>> create_dir(std::string) override { co_return no(); }
  Async<Result<void>> sync_dir(std::string) override { co_return no(); }
  Async<Result<std::vector<DirEntry>>> list(std::string) override { co_return no(); }
  Async<Result<uint64_t>> free_bytes() override { co_return no(); }
  Async<Result<std::unique_ptr<FileLock>>> lock(std::string) override { co_return no(); }
  std::string_view name() const override { return "hanging"; }

 private:
  static std::unexpected<Error> no() { return fail(Errc::unimplemented, "not in this test"); }
  int64_t since_us_ = 0;
};

size_t count(const std::string& text, std::string_view what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(IoWatchTest, TellsWhenAHangBeginsAndWhenItEnds) {
  HangingFs fs;
  IoWatch watch(fs, ShardId{3});
  const int64_t began_us = 100 * kBeatUs;
  int64_t now_us = began_us;
  fs.hang(began_us);
  testing::internal::CaptureStderr();
  while (!watch.hung()) watch.look(now_us += kBeatUs);
  EXPECT_LE(now_us - began_us, IoWatch::kHungUs + kBeatUs);
  EXPECT_EQ(watch.oldest_us(), now_us - began_us);
  for (int i = 0; i < 20; ++i) watch.look(now_us += kBeatUs);
  EXPECT_TRUE(watch.hung());
  fs.hang(0);
  watch.look(now_us += kBeatUs);
  EXPECT_FALSE(watch.hung());
  EXPECT_EQ(watch.oldest_us(), 0);
  watch.look(now_us += kBeatUs);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(count(log, "the disk does not answer shard=3"), 1u) << log;
  EXPECT_EQ(count(log, "the disk answers again shard=3 hung_us=15500000"), 1u) << log;
}

TEST(IoWatchTest, AShortWaitIsNoHang) {
  HangingFs fs;
  IoWatch watch(fs, ShardId{0});
  fs.hang(kBeatUs);
  for (int64_t now_us = kBeatUs; now_us < kBeatUs + IoWatch::kHungUs; now_us += kBeatUs) {
    watch.look(now_us);
    EXPECT_FALSE(watch.hung());
  }
}

}  // namespace
}  // namespace cellar::server
