// The age of the oldest operation in flight: the counter alone, an implementation whose disk hangs
// by a fault rule, and a real one whose threads are all busy.
#include "io/disk/io_age.h"

#include <gtest/gtest.h>

#include <latch>

#include "tests/io/disk/disk_bodies.h"

namespace cellar::test {
namespace {

constexpr int64_t kSecondUs = 1'000'000;

TEST(IoAgeTest, IsThatOfTheOldestAndNeverTooMuch) {
  IoAge age;
  EXPECT_EQ(age.look(10 * kSecondUs), 0);
  const uint8_t first = age.begin();
  EXPECT_EQ(age.look(11 * kSecondUs), 0) << "how long before this look it began is not known";
  const uint8_t second = age.begin();
  EXPECT_EQ(age.look(12 * kSecondUs), kSecondUs);
  EXPECT_EQ(age.look(15 * kSecondUs), 4 * kSecondUs);
  age.end(first);
  EXPECT_EQ(age.look(16 * kSecondUs), 4 * kSecondUs) << "of the second, counted at 12 s";
  age.end(second);
  EXPECT_EQ(age.look(17 * kSecondUs), 0);
}

TEST(IoAgeTest, OneThatNeverEndsKeepsItsAgeThroughAnyNumberOfLooks) {
  IoAge age;
  const uint8_t hung = age.begin();
  (void)age.look(0);
  for (int64_t s = 1; s < 10 * static_cast<int64_t>(IoAge::kGenerations); ++s) {
    const uint8_t other = age.begin();
    EXPECT_EQ(age.look(s * kSecondUs), s * kSecondUs);
    age.end(other);
  }
  age.end(hung);
  const uint8_t late = age.begin();
  (void)age.look(1000 * kSecondUs);
  EXPECT_LE(age.look(1001 * kSecondUs), kSecondUs);
  age.end(late);
  EXPECT_EQ(age.look(1002 * kSecondUs), 0);
}

TEST(IoAgeTest, AWriteThatIsWithheldIsSeen) {
  ShardLoop loop;
  MemDisk disk;
  FaultRules rules;
  FaultyFs fs(loop.executor(), std::make_unique<MemFs>(loop.executor(), disk), rules);
  auto file = block_on(loop, fs.open("a", creating()));
  ASSERT_TRUE(file);
  ASSERT_TRUE(rules.add("write hang"));
  bool done = false;
  spawn(loop.executor(), [&]() -> Async<void> {
    EXPECT_TRUE(co_await write_at(**file, 0, as_byte_span("x"), IoClass::log));
    done = true;
  });
  for (int i = 0; i < 10; ++i) loop.turn(false);
  (void)fs.oldest_io_us(kSecondUs);
  EXPECT_EQ(fs.oldest_io_us(7 * kSecondUs), 6 * kSecondUs);
  EXPECT_EQ(fs.release_hung(), 1u);
  while (!done) loop.turn(true);
  EXPECT_EQ(fs.oldest_io_us(8 * kSecondUs), 0);
}

class RealBodies : public testing::TestWithParam<IoBackend> {};

// All threads are blocked in a system call, as on a frozen file system.
TEST_P(RealBodies, ADurableWriteThatNoThreadCarriesOutIsSeen) {
  if (GetParam() == IoBackend::io_uring && !probe_io_backend(IoBackend::io_uring)) {
    GTEST_SKIP() << "there is no io_uring here";
  }
  TempDir dir;
  ShardLoop loop;
  BlockingPool pool(1);
  {
    auto fs = make_file_system(GetParam(), loop, dir.path(), pool);
    ASSERT_TRUE(fs) << fs.error().to_string();
    auto file = block_on(loop, (*fs)->open("a", creating()));
    ASSERT_TRUE(file);
    std::latch thaw(1);
    struct Frozen : BlockingPool::Job {
      std::latch* thaw = nullptr;
    } frozen;
    frozen.thaw = &thaw;
    frozen.run = [](BlockingPool::Job& job) { static_cast<Frozen&>(job).thaw->wait(); };
    pool.submit(frozen);
    bool done = false;
    spawn(loop.executor(), [&]() -> Async<void> {
      EXPECT_TRUE(co_await write_at(**file, 0, as_byte_span("x"), IoClass::log, true));
      done = true;
    });
    for (int i = 0; i < 10; ++i) loop.turn(false);
    (void)(*fs)->oldest_io_us(kSecondUs);
    EXPECT_EQ((*fs)->oldest_io_us(6 * kSecondUs), 5 * kSecondUs);
    EXPECT_FALSE(done);
    thaw.count_down();
    while (!done) loop.turn(true);
    EXPECT_EQ((*fs)->oldest_io_us(7 * kSecondUs), 0);
    EXPECT_TRUE(block_on(loop, (*file)->close()));
  }
  pool.stop();
}

INSTANTIATE_TEST_SUITE_P(IoAge, RealBodies,
                         testing::Values(IoBackend::threads, IoBackend::io_uring));

}  // namespace
}  // namespace cellar::test
