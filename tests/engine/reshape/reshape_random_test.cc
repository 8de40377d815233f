// Random splits, merges and moves under writes, flushes, compactions and restarts with other
// numbers of shards; with a power failure at every step of one reshape, and with a failure of every
// N-th disk operation. Invariants: acknowledged writes survive, rows are whole, tablets cover every
// row once, no blob is missing or left over.
#include <gtest/gtest.h>

#include "tests/engine/reshape/reshape_workload.h"
#include "tests/support/seeds.h"

namespace cellar::support {
namespace {

TestNodeOptions options_for(uint64_t seed, uint32_t shards, FaultRules* faults = nullptr) {
  TestNodeOptions options;
  options.seed = seed;
  options.shards = shards;
  options.min_latency_us = 20;
  options.max_latency_us = 400;
  options.engine.table_bytes = 16u << 10;
  options.engine.memtable_bytes = 128u << 10;
  if (seed % 2 == 0) options.engine.index_parts = engine::IndexParts::always;
  options.engine.index_part_bytes = 300;
  if (faults != nullptr) {
    options.wrap = [faults](std::unique_ptr<FileSystem> inner, MemDisk&, SimLoop& loop) {
      return std::make_unique<FaultyFs>(loop.executor(), std::move(inner), *faults, &loop.timers());
    };
  }
  return options;
}

// Errors that a random reshape may get on a healthy disk: there is no place to split.
bool expected_refusal(const Error& error) {
  return error.code == Errc::failed_precondition || error.code == Errc::out_of_range;
}

class ReshapeRandom : public testing::TestWithParam<uint64_t> {};

TEST_P(ReshapeRandom, KeepsEveryRowThroughWhateverComes) {
  size_t done = 0;
  for (const uint64_t round : test_seeds(2)) {
    const bool chosen = std::getenv("CELLAR_SEED") != nullptr;
    const uint64_t seed = chosen ? round : GetParam() * 1000 + round;
    SCOPED_TRACE(fmt::format("seed {}", seed));
    uint32_t shards = 1 + static_cast<uint32_t>(seed % 3);
    ReshapeWorkload workload(options_for(seed, shards));
    TestNode& node = workload.node();
    Random& random = workload.random();
    workload.set_shards(shards);
    ASSERT_TRUE(node.create_table("t", {"f"}, {"k13", "k27"}));
    for (int step = 0; step < 60; ++step) {
      for (uint64_t n = random.below(8); n > 0; --n) workload.write_something();
      const uint64_t dice = random.below(20);
      if (dice < 11) {
        const auto reshaped = workload.while_writing(workload.random_reshape());
        if (!reshaped)
          ASSERT_TRUE(expected_refusal(reshaped.error())) << reshaped.error().to_string();
        done += reshaped.has_value();
      } else if (dice < 13) {
        ASSERT_TRUE(node.flush("t"));
      } else if (dice < 14) {
        ASSERT_TRUE(node.compact("t"));
      } else if (dice < 16) {
        const engine::TabletDescriptor tablet = workload.random_tablet();
        auto compacted = node.world().block_on(node.loop(tablet.shard.value()),
                                               node.node().engine(tablet.shard).compact(tablet.id));
        ASSERT_TRUE(compacted) << compacted.error().to_string();
      } else if (dice < 17) {
        workload.flush_ahead();
        workload.check(node, fmt::format("step {}", step));
      } else if (dice < 18) {
        workload.flush_ahead();
        const bool in_order = random.one_in(2);
        if (in_order) ASSERT_TRUE(node.close());
        if (!in_order) node.crash(static_cast<CrashPolicy>(random.below(4)));
        shards = 1 + static_cast<uint32_t>(random.below(3));
        workload.set_shards(shards);
        ASSERT_TRUE(node.reopen(shards)) << node.open_error()->to_string();
        if (in_order) EXPECT_EQ(node.node().recovery().orphans_removed, 0u) << "blobs were left";
        workload.check(node, fmt::format("step {} restart", step));
      }
      workload.flush_ahead(ReshapeWorkload::kInFlight);
      if (HasFailure()) return;
    }
    workload.flush_ahead();
    workload.check(node, "at the end");
    ASSERT_TRUE(node.compact("t"));
    workload.check(node, "compacted");
    ASSERT_TRUE(node.close());
    ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
    EXPECT_EQ(node.node().recovery().orphans_removed, 0u) << "blobs were left";
    workload.check(node, "restarted");
    if (HasFailure()) return;
  }
  EXPECT_GT(done, 10u) << "hardly anything was reshaped";
}

INSTANTIATE_TEST_SUITE_P(Seeds, ReshapeRandom, testing::Range<uint64_t>(1, 7));

// ---- the power fails at every step

enum class Kind { split, merge, move };

Async<Result<void>> reshape(ReshapeWorkload& workload, Kind kind) {
  engine::Node& node = workload.node().node();
  const std::vector<engine::TabletDescriptor> tablets = workload.tablets();
  if (kind == Kind::split) {
    auto split = co_await node.split_tablet(ShardId{0}, tablets[0].id, "k07");
    if (!split) co_return std::unexpected(split.error());
  } else if (kind == Kind::merge) {
    auto merged = co_await node.merge_tablets(ShardId{0}, tablets[0].id, tablets[1].id);
    if (!merged) co_return std::unexpected(merged.error());
  } else {
    const ShardId to{1 - tablets[0].shard.value()};
    auto moved = co_await node.move_tablet(ShardId{0}, tablets[0].id, to);
    if (!moved) co_return std::unexpected(moved.error());
  }
  co_return Result<void>{};
}

// A table with data in tables shared by two tablets, in memory and in commits in progress.
void prepare(ReshapeWorkload& workload) {
  TestNode& node = workload.node();
  workload.set_shards(2);
  ASSERT_TRUE(node.create_table("t", {"f"}));
  for (int i = 0; i < 120; ++i) workload.write_something();
  workload.flush_ahead();
  ASSERT_TRUE(node.flush("t"));
  ASSERT_TRUE(node.split(workload.tablets()[0].id, "k20"));
  for (int i = 0; i < 40; ++i) workload.write_something();
  workload.flush_ahead(ReshapeWorkload::kInFlight);
}

struct Image {
  std::unique_ptr<MemDisk> disk;
  std::map<std::string, RowBounds> bounds;
  int64_t wall_us = 0;
  std::string note;
};

class ReshapeCrash : public testing::TestWithParam<Kind> {};

TEST_P(ReshapeCrash, AtEveryStepLosesNothingAndLeavesParentsOrChildren) {
  for (const uint64_t seed : test_seeds(1)) {
    ReshapeWorkload workload(options_for(seed, 2));
    prepare(workload);
    std::vector<Image> images;
    uint64_t round = 0;
    workload.on_round = [&] {
      TestNode& node = workload.node();
      ++round;
      Image image{.disk = node.crash_image(static_cast<CrashPolicy>(round % 4)),
                  .bounds = workload.bounds(),
                  .wall_us = node.world().clock().wall_us(),
                  .note = fmt::format("seed {} round {}", seed, round)};
      images.push_back(std::move(image));
    };
    const auto done = workload.while_writing(reshape(workload, GetParam()));
    ASSERT_TRUE(done) << done.error().to_string();
    workload.on_round = nullptr;
    EXPECT_GT(images.size(), 20u);
    std::set<size_t> tablets;
    std::set<std::string> shapes;
    for (Image& image : images) {
      TestNodeOptions options = options_for(seed, 1 + static_cast<uint32_t>(round++ % 3));
      options.start_wall_us = image.wall_us;
      TestNode after(options, std::move(image.disk));
      workload.check(after, image.bounds, image.note);
      if (HasFailure()) return;
      std::string shape;
      for (const auto& tablet : after.table("t")->tablets) {
        shape += fmt::format("{} {} {}\n", tablet.id, tablet.epoch, tablet.start);
      }
      shapes.insert(shape);
    }
    EXPECT_EQ(shapes.size(), 2u) << "parents before the edit, children after it, and nothing else";
    workload.flush_ahead();
    workload.check(workload.node(), "at the end");
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, ReshapeCrash,
                         testing::Values(Kind::split, Kind::merge, Kind::move));

// ---- the disk fails

class ReshapeFault : public testing::TestWithParam<const char*> {};

TEST_P(ReshapeFault, AtAnyPlaceLosesNothingAndAnswersTheError) {
  size_t met = 0;
  size_t failed = 0;
  for (uint64_t nth = 1; nth < 40; nth += 1 + nth / 6) {
    for (const Kind kind : {Kind::split, Kind::merge, Kind::move}) {
      FaultRules faults;
      const uint64_t seed = 100 + nth;
      ReshapeWorkload workload(options_for(seed, 2, &faults));
      prepare(workload);
      const std::string rule = fmt::format("{} nth={}", GetParam(), nth);
      SCOPED_TRACE(fmt::format("seed {} kind {} rule {}", seed, static_cast<int>(kind), rule));
      ASSERT_TRUE(faults.add(rule));
      const auto done = workload.while_writing(reshape(workload, kind));
      failed += !done;
      met += faults.hits();
      faults.clear();
      workload.flush_ahead();
      workload.check(workload.node(), "it goes on");
      const auto bounds = workload.bounds();
      workload.node().crash(CrashPolicy::none);
      ASSERT_TRUE(workload.node().reopen()) << workload.node().open_error()->to_string();
      workload.check(workload.node(), bounds, "after a restart");
      ASSERT_TRUE(workload.node().compact("t"));
      workload.check(workload.node(), bounds, "compacted");
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(met, 2u) << "the rule never applied";
  EXPECT_GT(failed, 0u) << "it never mattered";
}

INSTANTIATE_TEST_SUITE_P(Rules, ReshapeFault,
                         testing::Values("write path=log/* error=EIO",
                                         "write path=blob/* error=EIO",
                                         "write path=manifest/* error=EIO", "sync path=* error=EIO",
                                         "* path=blob/* error=ENOSPC"));

}  // namespace
}  // namespace cellar::support
