// The mark of a blob that entries of several tablets may name: written by the split that shares it,
// kept by moves, merges and restarts, absent from what a compaction writes.
#include <gtest/gtest.h>

#include <optional>

#include "engine/store/blob/blob_files.h"
#include "tests/support/manifest_double.h"
#include "tests/support/manifest_of_disk.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

class SharedMark : public testing::Test {
 protected:
  SharedMark() : node_(options()) {
    EXPECT_TRUE(node_.create_table("t", {"f"}));
    // One table of all rows, and a newer one of the first rows only.
    for (const char* row : {"a", "b", "x", "y"}) EXPECT_TRUE(node_.set("t", row, "f:q", 5, "1"));
    EXPECT_TRUE(node_.flush("t"));
    EXPECT_TRUE(node_.set("t", "a", "f:q", 6, "2"));
    EXPECT_TRUE(node_.flush("t"));
    const auto tables = tables_now();
    EXPECT_EQ(tables.size(), 1u);
    for (const auto& [blob, item] : tables.begin()->second) {
      (item.meta.run == 1 ? all_ : first_) = blob;
      EXPECT_FALSE(item.shared);
    }
  }
  TestNodeOptions options() {
    TestNodeOptions options;
    options.shards = 2;
    options.wrap_manifest = [this](std::unique_ptr<engine::ManifestStore> store) {
      auto manifest = std::make_unique<ManifestDouble>(std::move(store));
      manifest->set_has_all_tablets(has_all_tablets_);
      return manifest;
    };
    return options;
  }
  std::map<TabletId, std::map<BlobId, engine::TableItem>> tables_now() {
    const std::unique_ptr<MemDisk> image = node_.crash_image(CrashPolicy::all);
    return tables_of(*image);
  }
  // Whether the tablet's entry marks the blob; empty if it does not name it.
  std::optional<bool> mark(TabletId tablet, BlobId blob) {
    const auto tables = tables_now();
    const auto item = tables.at(tablet).find(blob);
    if (item == tables.at(tablet).end()) return std::nullopt;
    return item->second.shared;
  }
  void split() {
    const auto children = node_.split(node_.table("t")->tablets.at(0).id, "m");
    ASSERT_TRUE(children) << children.error().to_string();
    left_ = children->at(0).id;
    right_ = children->at(1).id;
  }
  bool is_there(BlobId blob) {
    node_.world().run_for_us(1'000'000);
    return node_.disk().read_all(engine::blob_path(blob)).has_value();
  }

  bool has_all_tablets_ = true;
  TestNode node_;
  BlobId all_, first_;
  TabletId left_, right_;
};

TEST_F(SharedMark, IsOnWhatBothPartsOfASplitNameAndOnNothingElse) {
  split();
  EXPECT_EQ(mark(left_, all_), true);
  EXPECT_EQ(mark(right_, all_), true);
  EXPECT_EQ(mark(left_, first_), false);
  EXPECT_EQ(mark(right_, first_), std::nullopt);
}

TEST_F(SharedMark, StaysThroughMovesMergesAndRestarts) {
  split();
  const uint32_t shard = node_.table("t")->tablets.at(0).shard.value();
  ASSERT_TRUE(node_.move(left_, 1 - shard));
  EXPECT_EQ(mark(left_, all_), true);
  EXPECT_EQ(mark(left_, first_), false) << "counted in the process, named by one tablet";
  ASSERT_TRUE(node_.close());
  ASSERT_TRUE(node_.reopen());
  EXPECT_EQ(mark(left_, all_), true);
  ASSERT_TRUE(node_.move(left_, shard));
  const auto merged = node_.merge(left_, right_);
  ASSERT_TRUE(merged) << merged.error().to_string();
  EXPECT_EQ(mark(merged->id, all_), true) << "nothing tells that no other tablet names it";
  EXPECT_EQ(mark(merged->id, first_), false);
  EXPECT_EQ(node_.cells("t").size(), 5u);
  ASSERT_TRUE(node_.compact("t"));
  const auto after = tables_now();
  for (const auto& [blob, item] : after.at(merged->id)) EXPECT_FALSE(item.shared);
  EXPECT_FALSE(is_there(all_));
  EXPECT_FALSE(is_there(first_));
}

TEST_F(SharedMark, TheLastTabletThatNamesABlobRemovesIt) {
  split();
  ASSERT_TRUE(node_.close());
  ASSERT_TRUE(node_.reopen());  // marked, and named twice
  ASSERT_TRUE(node_.compact("t"));
  EXPECT_FALSE(is_there(all_));
  const auto after = tables_now();
  for (const auto& [tablet, tables] : after) {
    for (const auto& [blob, item] : tables) EXPECT_FALSE(item.shared);
  }
}

// The same where other nodes may have tablets that name the blob: only the count of this process is
// zero.
TEST_F(SharedMark, ABlobWithItStaysIfTheProcessDoesNotSeeAllTablets) {
  for (const bool restart : {false, true}) {
    SCOPED_TRACE(restart);
    ASSERT_TRUE(node_.close());
    has_all_tablets_ = false;
    ASSERT_TRUE(node_.reopen());
    if (!restart) {
      split();
    } else {
      // What the first round has written, marked in its turn.
      for (const char* row : {"a", "y"}) ASSERT_TRUE(node_.set("t", row, "f:q", 7, "3"));
      ASSERT_TRUE(node_.flush("t"));
      const auto merged = node_.merge(left_, right_);
      ASSERT_TRUE(merged) << merged.error().to_string();
      ASSERT_TRUE(node_.compact("t"));
      const auto tables = tables_now();
      all_ = tables.at(merged->id).begin()->first;
      split();
      ASSERT_TRUE(node_.close());
      ASSERT_TRUE(node_.reopen());
    }
    ASSERT_TRUE(node_.compact("t"));
    EXPECT_TRUE(is_there(all_)) << "marked";
    if (!restart) EXPECT_FALSE(is_there(first_)) << "not marked";
    ASSERT_TRUE(node_.close());
    ASSERT_TRUE(node_.reopen());
    EXPECT_TRUE(is_there(all_)) << "a start does not remove it either";
    EXPECT_EQ(node_.cells("t").size(), restart ? 7u : 5u);
  }
}

}  // namespace
}  // namespace cellar::support
