// The power fails at random moments of a random workload, and again during recovery; every N-th
// disk operation fails. Acknowledged commits survive, no row is half applied, and the recovered
// state is a prefix of the commits.
#include <gtest/gtest.h>

#include "tests/engine/crash/workload.h"
#include "tests/support/seeds.h"

namespace cellar::support {
namespace {

// Recovers an image, takes crash images meanwhile, and provides the node to check.
struct Reopened {
  static constexpr uint64_t kRoundsOfAStart = 400;

  // `again`: the power fails once more, at a moment between the start and the end of the flushes
  // that follow it.
  Reopened(CrashImage& image, uint64_t seed, bool again)
      : random(seed), rounds_left(again ? 1 + random.below(kRoundsOfAStart) : 0) {
    TestNodeOptions options;
    options.seed = seed;
    options.shards = 1 + static_cast<uint32_t>(random.below(3));
    options.min_latency_us = 20;
    options.max_latency_us = 400;
    options.start_wall_us = image.wall_us;
    options.on_round = [this](TestNode& reopening) {
      if (rounds_left == 0 || --rounds_left != 0) return;
      second = reopening.crash_image(static_cast<CrashPolicy>(random.below(4)));
    };
    node = std::make_unique<TestNode>(options, std::move(image.disk));
  }

  Random random;
  uint64_t rounds_left;
  std::unique_ptr<MemDisk> second;
  std::unique_ptr<TestNode> node;
};

void check(const CrashWorkload& workload, const CrashImage& image, TestNode& node) {
  ASSERT_TRUE(node.is_open()) << image.note << ": " << node.open_error()->to_string();
  if (!image.table_exists) return;
  for (size_t i = 0; i < image.durable.size(); ++i) {
    workload.check_tablet(node, i, image.durable[i], image.submitted[i], image.note);
  }
}

class Crash : public testing::TestWithParam<uint64_t> {};

TEST_P(Crash, LosesNothingAcknowledgedAndLeavesAPrefixOfEachTablet) {
  size_t images = 0;
  for (const uint64_t round : test_seeds(8)) {
    // CELLAR_SEED, printed by a failure, is used unchanged.
    const bool chosen = std::getenv("CELLAR_SEED") != nullptr;
    const uint64_t seed = chosen ? round : GetParam() * 1'000'000 + round;
    CrashWorkload workload(seed);
    workload.take_images(80, 12);
    workload.run(250);
    for (CrashImage& image : workload.images()) {
      ++images;
      // One recovery in three is interrupted by a second crash.
      Reopened first(image, seed + images, images % 3 == 0);
      check(workload, image, *first.node);
      if (HasFailure()) return;
      if (!first.second) continue;
      image.disk = std::move(first.second);
      image.note += " and again amid recovery";
      Reopened second(image, seed + 1, false);
      check(workload, image, *second.node);
      if (HasFailure()) return;
    }
  }
  EXPECT_GE(images, 40u) << "too few images; the workload has become too short";
}

INSTANTIATE_TEST_SUITE_P(Seeds, Crash, testing::Range<uint64_t>(1, 11));

// A disk operation fails: the node returns errors or becomes read-only, and after a restart on a
// healthy disk everything it acknowledged is there.
class DiskError : public testing::TestWithParam<const char*> {};

TEST_P(DiskError, AtAnyPlaceLosesNothingAcknowledged) {
  size_t met = 0;
  for (uint64_t nth = 1; nth < 400; nth += 1 + nth / 6) {
    const uint64_t seed = 7'000 + nth;
    FaultRules faults;
    CrashWorkload workload(seed, &faults);
    ASSERT_TRUE(workload.node().is_open());
    const std::string rule = fmt::format("{} nth={}", GetParam(), nth);
    ASSERT_TRUE(faults.add(rule));
    workload.run(80);
    met += faults.hits();
    CrashImage image;
    image.note = fmt::format("seed {} rule '{}'", seed, rule);
    image.table_exists = !workload.histories().empty();
    for (const TabletHistory& history : workload.histories()) {
      image.durable.push_back(history.durable());
      image.submitted.push_back(history.commits.size());
    }
    image.wall_us = workload.node().world().clock().wall_us();
    image.disk = workload.node().crash_image(CrashPolicy::none);
    faults.clear();
    Reopened after(image, seed, false);
    check(workload, image, *after.node);
    if (HasFailure()) return;
  }
  EXPECT_GT(met, 2u) << "the rule never applied";
}

INSTANTIATE_TEST_SUITE_P(
    Rules, DiskError,
    testing::Values("write path=log/* error=EIO", "write path=blob/* error=EIO",
                    "write path=manifest/* error=EIO", "sync path=* error=EIO", "sync path=* drop",
                    "write path=* error=ENOSPC", "write path=blob/* error=ENOSPC sticky",
                    "allocate path=* error=ENOSPC", "create path=* error=ENOSPC",
                    "read path=blob/* error=EIO", "* path=* short"));

}  // namespace
}  // namespace cellar::support
