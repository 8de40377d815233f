// ClockBed: a node of two shards with default permits and renewals of anchors, on disks whose
// writes a test can delay, fail and count.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "io/sim/faulty_fs.h"
#include "io/sim/manual_clock.h"
#include "tests/support/durations.h"
#include "tests/support/test_node.h"

namespace cellar::support {

class ClockBed : public testing::Test {
 protected:
  void SetUp() override {
    TestNodeOptions options;
    options.shards = 2;
    options.engine.clock_permit_us = engine::EngineOptions().clock_permit_us;
    options.engine.clock_renew_us = engine::EngineOptions().clock_renew_us;
    options.wrap = [this](std::unique_ptr<FileSystem> inner, MemDisk&, SimLoop& loop) {
      auto fs =
          std::make_unique<FaultyFs>(loop.executor(), std::move(inner), faults_, &loop.timers());
      all_fs_.push_back(fs.get());
      return fs;
    };
    node_.emplace(options);
    ASSERT_TRUE(node_->create_table("t", {"f"}, {"m"}));
  }
  ManualClock& clock() { return node_->world().clock(); }
  int64_t trusted_us(uint32_t shard) { return node_->shard(shard).clock().now_us(); }

  FaultRules faults_;
  std::vector<FaultyFs*> all_fs_;
  std::optional<TestNode> node_;
};

}  // namespace cellar::support
