// Blob ids are never reused, however many a session needs.
#include <gtest/gtest.h>

#include <set>

#include "engine/shard/shard_engine.h"
#include "io/sim/faulty_fs.h"
#include "tests/engine/gc/reclaim_bed.h"

namespace cellar::support {
namespace {

using engine::SessionBlobIds;
using engine::ShardEngine;

TEST(SessionBlobIds, AnotherSessionIsAskedForWhenHalfIsUsedAndNoIdComesTwice) {
  int asked = 0;
  SessionBlobIds ids(SessionEpoch{7}, ShardId{0}, [&asked] { ++asked; });
  BlobId last;
  for (uint32_t i = 0; i < SessionBlobIds::kAskAt; ++i) last = *ids.next_blob_id();
  EXPECT_EQ(asked, 0);
  ASSERT_TRUE(ids.next_blob_id());
  EXPECT_EQ(asked, 1);
  ids.not_drawn();
  ASSERT_TRUE(ids.next_blob_id());
  EXPECT_EQ(asked, 2) << "the one before was in vain";
  for (uint32_t i = SessionBlobIds::kAskAt + 2; i < kBlobIdsPerSession; ++i)
    last = *ids.next_blob_id();
  EXPECT_EQ(last, make_blob_id(SessionEpoch{7}, 0, kBlobIdsPerSession - 1));
  EXPECT_LT(last, make_blob_id(SessionEpoch{7}, 1, 0));
  const auto none = ids.next_blob_id();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Errc::unavailable);
  EXPECT_EQ(none.error().applied, Applied::not_applied);
  EXPECT_EQ(asked, 2);
  ids.renew(SessionEpoch{9});
  EXPECT_EQ(*ids.next_blob_id(), make_blob_id(SessionEpoch{9}, 0, 0));
}

class BlobIdsOfANode : public ReclaimBed {
 protected:
  static inline FaultRules faults_;
  static TestNodeOptions two_shards() {
    TestNodeOptions options = ReclaimBed::options();
    options.shards = 2;
    options.wrap = [](std::unique_ptr<FileSystem> inner, MemDisk&, SimLoop& loop) {
      return std::make_unique<FaultyFs>(loop.executor(), std::move(inner), faults_, &loop.timers());
    };
    return options;
  }
  BlobIdsOfANode() : ReclaimBed(two_shards()) {}
  ~BlobIdsOfANode() override { faults_.clear(); }

  SessionBlobIds& ids(uint32_t shard) {
    return static_cast<ShardEngine&>(node_.node().engine(ShardId{shard})).blob_ids();
  }
  // Uses up the ids of a session, as fast as new sessions are assigned.
  void use_up(uint32_t shard) {
    for (uint32_t i = 0; i < kBlobIdsPerSession; ++i) {
      if (i % (kBlobIdsPerSession / 8) == 0) pass_exactly(1'000'000);
      ASSERT_TRUE(ids(shard).next_blob_id());
    }
  }
  void write(const std::string& row, const std::string& value, int64_t timestamp_us) {
    ASSERT_TRUE(node_.write("t", row, {set_cell("f:q", timestamp_us, value)}));
  }
  std::set<std::string> values() {
    std::set<std::string> all;
    for (const OwnedCell& cell : node_.cells("t")) all.insert(cell.value);
    return all;
  }
};

TEST_F(BlobIdsOfANode, OneShardsIdsAreNeverAnothers) {
  ASSERT_TRUE(node_.create_table("t", {"f"}, {"m"}));
  const uint32_t left = node_.table("t")->tablets[0].shard.value();
  ASSERT_NE(left, node_.table("t")->tablets[1].shard.value());
  write("z", "right", 1);
  ASSERT_TRUE(node_.flush("t"));
  for (uint32_t shard = 0; shard < 2; ++shard) use_up(shard);
  write("a", "left", 1);
  write("z", "right", 2);
  ASSERT_TRUE(node_.flush("t"));
  ASSERT_TRUE(node_.close());
  ASSERT_TRUE(node_.reopen());
  EXPECT_EQ(values(), (std::set<std::string>{"left", "right"}));
}

TEST_F(BlobIdsOfANode, WhatWasCachedOfARemovedBlobIsNeverReadForAnother) {
  create(RetentionRule{});
  const engine::TabletDescriptor tablet = node_.table("t")->tablets.front();
  if (tablet.shard != ShardId{1}) ASSERT_TRUE(node_.move(tablet.id, 1));
  for (int i = 0; i < 5; ++i) write(fmt::format("r{}", i), "old", 1);
  ASSERT_TRUE(node_.flush("t"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(values(), std::set<std::string>{"old"});
  ASSERT_TRUE(node_.drop_rows("t", "", ""));
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(node_.compact("t"));
    pass_exactly(400'000'000);
  }
  EXPECT_EQ(tables(), 0u);
  EXPECT_EQ(node_.stats().cache_bytes, 0u) << "nobody can ask for what was in the blob";
  use_up(1);
  for (int i = 0; i < 5; ++i) write(fmt::format("r{}", i), "new", 1);
  ASSERT_TRUE(node_.flush("t"));
  EXPECT_EQ(values(), std::set<std::string>{"new"});
}

TEST_F(BlobIdsOfANode, ASessionThatIsDrawnIsOlderThanTheNextStarts) {
  create(RetentionRule{});
  use_up(0);
  const BlobId before = *ids(0).next_blob_id();
  node_.kill();
  ASSERT_TRUE(node_.reopen());
  EXPECT_GT(*ids(0).next_blob_id(), before);
}

}  // namespace
}  // namespace cellar::support
