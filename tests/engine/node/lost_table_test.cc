// A table whose index or footer is damaged: the node starts, reads of its rows fail with an error
// that names it, and all other data is served.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/store/blob/blob_files.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

bool has(const std::vector<std::string>& paths, const std::string& path) {
  return std::ranges::find(paths, path) != paths.end();
}

class LostTable : public testing::Test {
 protected:
  static std::string row(int i) { return fmt::format("row{:03}", i); }
  void fill(int from, int to) {
    for (int i = from; i < to; ++i) {
      ASSERT_TRUE(node_.set("t", row(i), "f:q", 5, fmt::format("{:0>300}", i * 7 + 1)));
    }
    ASSERT_TRUE(node_.flush("t"));
  }
  std::vector<std::string> blobs() {
    std::vector<std::string> files;
    for (const std::string& path : node_.disk().all_files()) {
      if (path.starts_with("blob/")) files.push_back(path);
    }
    return files;
  }
  std::optional<Error> read_error(const std::string& key) {
    const auto cells = node_.read_row("t", key);
    return cells ? std::nullopt : std::optional(cells.error());
  }
  void expect_lost(const std::string& key, const std::string& path) {
    const auto error = read_error(key);
    ASSERT_TRUE(error) << key;
    EXPECT_EQ(error->code, Errc::data_loss) << error->to_string();
    EXPECT_NE(error->message.find(path), std::string::npos) << error->message;
  }

  static TestNodeOptions two_shards() {
    TestNodeOptions options;
    options.shards = 2;
    return options;
  }
  // A table of 100 rows in one file.
  static void fill(TestNode& node) {
    ASSERT_TRUE(node.create_table("t", {"f"}));
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(node.set("t", row(i), "f:q", 5, "v"));
    ASSERT_TRUE(node.flush("t"));
  }
  // To the other of two shards.
  static Result<engine::TabletDescriptor> move(TestNode& node) {
    const engine::TabletDescriptor tablet = node.table("t")->tablets[0];
    return node.move(tablet.id, 1 - tablet.shard.value());
  }

  TestNode node_;
};

TEST_F(LostTable, WhereverItsTailIsDamagedTheOthersAreServed) {
  ASSERT_TRUE(node_.create_table("t", {"f"}));
  ASSERT_TRUE(node_.create_table("other", {"f"}));
  ASSERT_TRUE(node_.set("other", "r", "f:q", 5, "v"));
  fill(0, 100);
  const std::string lost = blobs().front();
  fill(200, 300);
  ASSERT_TRUE(node_.flush("other"));
  const uint64_t size = node_.disk().read_all(lost)->size();
  // Some positions in the footer, the index and the meta block.
  for (const uint64_t back : {4u, 20u, 40u, 90u, 150u, 300u}) {
    SCOPED_TRACE(back);
    ASSERT_TRUE(node_.close());
    ASSERT_TRUE(node_.disk().corrupt(lost, size - back, 0x10));
    const auto opened = node_.reopen();
    ASSERT_TRUE(opened) << opened.error().to_string();
    expect_lost(row(0), lost);
    expect_lost(row(99), lost);
    ReadSpec scan;
    scan.rows = RowSet::everything();
    EXPECT_FALSE(node_.read("t", scan)) << "a scan over it is told, too";
    EXPECT_EQ(read_error(row(250)), std::nullopt);
    EXPECT_EQ(node_.read_row("t", row(250))->size(), 1u);
    EXPECT_EQ(node_.read_row("other", "r")->size(), 1u);
    ASSERT_TRUE(node_.set("t", row(400), "f:q", 5, "new"));
    EXPECT_EQ(node_.read_row("t", row(400))->front().value, "new");
    EXPECT_TRUE(node_.flush("t"));
    EXPECT_FALSE(node_.compact("t")) << "nothing of it is merged away";
    node_.world().run_for_us(60'000'000);
    EXPECT_TRUE(has(blobs(), lost));
    ASSERT_TRUE(node_.close());
    ASSERT_TRUE(node_.disk().corrupt(lost, size - back, 0x10));  // restores the byte
    ASSERT_TRUE(node_.reopen());
    EXPECT_EQ(node_.read_row("t", row(0))->size(), 1u);
  }
}

// Its range deletes are lost with it, and it is unknown what they covered.
TEST_F(LostTable, OneThatHeldRangeDeletesTakesItsTabletWithIt) {
  ASSERT_TRUE(node_.create_table("t", {"f"}));
  ASSERT_TRUE(node_.create_table("other", {"f"}));
  fill(0, 100);
  ASSERT_TRUE(node_.drop_rows("t", row(10), row(20)));
  ASSERT_TRUE(node_.set("other", "r", "f:q", 5, "beside"));
  const std::vector<std::string> before = blobs();
  ASSERT_TRUE(node_.flush("t"));
  std::string lost;
  for (const std::string& path : blobs()) {
    if (!has(before, path) && lost.empty()) lost = path;
  }
  ASSERT_TRUE(node_.close());
  const uint64_t size = node_.disk().read_all(lost)->size();
  ASSERT_TRUE(node_.disk().corrupt(lost, size - 20, 0x10));
  ASSERT_TRUE(node_.reopen());
  for (const int i : {0, 10, 15, 20, 99}) expect_lost(row(i), lost);
  const auto beside = node_.read_row("other", "r");
  ASSERT_TRUE(beside) << beside.error().to_string();
  EXPECT_EQ(beside->size(), 1u) << "of another tablet";
}

// A split or move keeps the lost table in every new tablet: the rows that its range deletes cover
// are unknown, so all rows stay unreadable.
TEST_F(LostTable, RangeDeletesStayLostWhenTheTabletIsReplaced) {
  TestNode node(two_shards());
  ASSERT_NO_FATAL_FAILURE(fill(node));
  std::set<std::string> before;
  for (const std::string& path : node.disk().all_files()) before.insert(path);
  ASSERT_TRUE(node.drop_rows("t", row(10), row(20)));
  ASSERT_TRUE(node.flush("t"));
  std::string lost;
  for (const std::string& path : node.disk().all_files()) {
    if (path.starts_with("blob/") && !before.contains(path)) lost = path;
  }
  ASSERT_TRUE(node.close());
  ASSERT_TRUE(node.disk().corrupt(lost, node.disk().read_all(lost)->size() - 20, 0x10));
  ASSERT_TRUE(node.reopen());
  const auto expect_loss = [&](int i) {
    const auto cells = node.read_row("t", row(i));
    ASSERT_FALSE(cells) << i;
    EXPECT_EQ(cells.error().code, Errc::data_loss);
  };
  expect_loss(15);
  const auto moved = move(node);
  EXPECT_TRUE(moved) << moved.error().to_string();
  expect_loss(15);
  (void)node.split(node.table("t")->tablets[0].id, row(50));
  node.world().run_for_us(60'000'000);
  for (const int i : {0, 10, 15, 20, 70, 99}) expect_loss(i);
  EXPECT_TRUE(has(node.disk().all_files(), lost));
}

// A table that is served from memory stays served: a move that would lose it is refused.
TEST_F(LostTable, AMoveLosesNoTableThatIsServed) {
  TestNode node(two_shards());
  ASSERT_NO_FATAL_FAILURE(fill(node));
  std::string damaged;
  for (const std::string& path : node.disk().all_files()) {
    if (path.starts_with("blob/")) damaged = path;
  }
  ASSERT_TRUE(node.disk().corrupt(damaged, node.disk().read_all(damaged)->size() - 20, 0x10));
  const auto before = node.cells("t");
  const auto moved = move(node);
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().code, Errc::data_loss);
  EXPECT_NE(moved.error().message.find(damaged), std::string::npos) << moved.error().message;
  EXPECT_EQ(node.cells("t"), before);
  ASSERT_TRUE(node.compact("t"));
  EXPECT_TRUE(move(node));
  EXPECT_EQ(node.cells("t"), before);
}

TEST_F(LostTable, OneThatIsMissingIsRefusedAtTheStart) {
  ASSERT_TRUE(node_.create_table("t", {"f"}));
  fill(0, 100);
  const std::string lost = blobs().front();
  ASSERT_TRUE(node_.close());
  ASSERT_TRUE(node_.disk().remove(lost));
  const auto opened = node_.reopen();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::data_loss);
}

}  // namespace
}  // namespace cellar::support
