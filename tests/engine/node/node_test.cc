// A whole node in memory: tables, commits, reads, flushes and restarts.
#include <gtest/gtest.h>

#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

std::vector<OwnedCell> one(std::string row, std::string qualifier, int64_t t, std::string value) {
  return {{std::move(row), "f", std::move(qualifier), t, std::move(value)}};
}

TEST(Node, WhatIsWrittenIsReadBack) {
  TestNode node;
  ASSERT_FALSE(node.open_error()) << node.open_error()->to_string();
  ASSERT_TRUE(node.create_table("t", {"f"}));
  ASSERT_TRUE(node.set("t", "row", "f:q", 5, "value"));
  EXPECT_EQ(node.cells("t"), one("row", "q", 5, "value"));
}

TEST(Node, ReopenedAfterACloseItHoldsTheSame) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}));
  ASSERT_TRUE(node.set("t", "row", "f:q", 5, "value"));
  ASSERT_TRUE(node.close());
  ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
  EXPECT_EQ(node.cells("t"), one("row", "q", 5, "value"));
}

TEST(Node, ReopenedAfterAPowerCutItHoldsWhatWasAcknowledged) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}));
  ASSERT_TRUE(node.set("t", "row", "f:q", 5, "value"));
  node.crash(CrashPolicy::none);
  ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
  EXPECT_EQ(node.cells("t"), one("row", "q", 5, "value"));
  EXPECT_EQ(node.node().recovery().replayed_commits, 1u);
}

TEST(Node, AFlushMovesCommitsToATableAndChangesNoAnswer) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}));
  ASSERT_TRUE(node.set("t", "row", "f:q", 5, "value"));
  ASSERT_TRUE(node.flush("t"));
  EXPECT_EQ(node.stats().tables_on_disk, 1u);
  EXPECT_EQ(node.stats().memtable_bytes, 0u);
  EXPECT_EQ(node.cells("t"), one("row", "q", 5, "value"));
}

}  // namespace
}  // namespace cellar::support
