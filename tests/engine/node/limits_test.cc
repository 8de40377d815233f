// Limits of the catalog and of requests, at the bound and one past it; every refusal names the
// thing and the bound. tests/LIMITS.md says which test holds which limit.
#include <gtest/gtest.h>

#include "engine/catalog/catalog.h"
#include "engine/catalog/reshape_plan.h"
#include "engine/model/token.h"
#include "engine/preview_rule.h"
#include "tests/engine/write/range_token_bed.h"
#include "tests/support/test_node.h"

namespace cellar::engine {
namespace {

TableSpec table(std::string name, size_t splits = 0) {
  TableSpec spec;
  spec.name = std::move(name);
  spec.families.emplace_back().name = "f";
  for (size_t i = 0; i < splits; ++i) spec.splits.push_back(fmt::format("{:05}", i));
  return spec;
}

void expect_told(const Error& error, Errc code, const std::vector<std::string>& words) {
  EXPECT_EQ(error.code, code) << error.to_string();
  for (const std::string& word : words)
    EXPECT_NE(error.message.find(word), std::string::npos) << word << ": " << error.message;
}

const std::vector<LogId> kLogs{LogId{1}};

TEST(CatalogLimits, ATableIsMadeWithSoManySplitsAndNoMore) {
  const Catalog catalog(1);
  const auto made = catalog.plan_create(table("t", kMaxSplits), {}, kLogs);
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_EQ(made->entry.tablets.size(), kMaxSplits + 1);
  const auto refused = catalog.plan_create(table("t", kMaxSplits + 1), {}, kLogs);
  ASSERT_FALSE(refused);
  expect_told(refused.error(), Errc::invalid_argument, {"4097 splits", "4096"});
}

TEST(CatalogLimits, ANodeHasSoManyTablesAndNoMore) {
  // All entries but the last as a manifest has them, then the last one.
  const auto first = Catalog(1).plan_create(table("t"), {}, kLogs);
  ASSERT_TRUE(first) << first.error().to_string();
  ManifestContents manifest;
  for (uint64_t i = 1; i < kMaxTables; ++i) {
    auto& one = manifest.tables[TableId{i}];
    one = {.schema = first->entry.schema, .version = i, .drop = {}};
    one.schema.id = TableId{i};
    one.schema.name = fmt::format("t{}", i);
    TabletSeed& seed = manifest.tablets.emplace_back(first->seeds[0]);
    seed.id = TabletId{i};
    seed.state.table = TableId{i};
  }
  manifest.node.next_table = TableId{kMaxTables};
  manifest.node.next_tablet = TabletId{kMaxTables};
  Catalog catalog(1);
  catalog.load(manifest);
  auto last = catalog.plan_create(table("last"), {}, kLogs);
  ASSERT_TRUE(last) << last.error().to_string();
  catalog.created(*last, std::vector<uint64_t>(last->edits.size(), kMaxTables));
  EXPECT_EQ(catalog.map().tables().size(), kMaxTables);
  const auto refused = catalog.plan_create(table("one_more"), {}, kLogs);
  ASSERT_FALSE(refused);
  expect_told(refused.error(), Errc::resource_exhausted, {"10000 tables", "at most 10000"});
}

TEST(CatalogLimits, ATableIsCutIntoSoManyTabletsAndNoMore) {
  TableEntry entry;
  entry.schema.name = "wide";
  entry.tablets.resize(kMaxTablets - 1);
  EXPECT_TRUE(check_room_for_split(entry));
  entry.tablets.resize(kMaxTablets);
  const auto refused = check_room_for_split(entry);
  ASSERT_FALSE(refused);
  expect_told(refused.error(), Errc::failed_precondition, {"'wide'", "65536 tablets", "at most"});
}

TEST(RequestLimits, APreviewShowsSoManyRowsAndNoMore) {
  support::TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}));
  PreviewRequest request;
  request.table = "t";
  request.family = "f";
  request.rule = RetentionRule::max_versions(1);
  request.samples = kMaxPreviewSamples;
  EXPECT_TRUE(node.preview(request));
  request.samples = kMaxPreviewSamples + 1;
  const auto refused = node.preview(request);
  ASSERT_FALSE(refused);
  expect_told(refused.error(), Errc::invalid_argument, {"1001 samples", "1000"});
}

TEST(RequestLimits, ATokenHasSoManyBytesAndNoMore) {
  const std::string client(kMaxTokenClientBytes, 'c');
  const std::string bytes(kMaxTokenBytes + 1, 't');
  WriteToken token;
  token.client = client;
  token.token = Bytes(bytes).substr(1);
  EXPECT_TRUE(validate_token(token));
  token.token = bytes;
  const auto refused = validate_token(token);
  ASSERT_FALSE(refused);
  expect_told(refused.error(), Errc::invalid_argument, {"65", "64"});
}

TEST(RangeDeleteLimits, ATabletHoldsSoManyBytesUntilTheyAreMerged) {
  support::TestNodeOptions options;
  options.engine.most_range_delete_bytes = 2000;
  options.engine.removal_margin_us = 0;
  support::TestNode node(options);
  ASSERT_TRUE(node.create_table("t", {"f"}));
  ASSERT_TRUE(node.set("t", std::string(100, 'r') + "0", "f:q", 1, "dropped below"));
  ASSERT_TRUE(node.flush("t"));
  const auto drop = [&](int i) {
    const std::string row = std::string(100, 'r') + std::to_string(i);
    return node.drop_rows("t", row, row + '\0');
  };
  int dropped = 0;
  while (dropped < 100 && drop(dropped)) ++dropped;
  EXPECT_EQ(dropped, 9);  // 203 bytes of bounds, 18 beside
  const auto refused = drop(dropped);
  ASSERT_FALSE(refused);
  expect_told(refused.error(), Errc::resource_exhausted, {"range deletes", "2000 bytes"});
  EXPECT_TRUE(refused.error().retryable());
  ASSERT_TRUE(node.set("t", "r", "f:q", 1, "v")) << "other writes are not refused";
  ASSERT_TRUE(node.flush("t"));
  EXPECT_FALSE(drop(dropped)) << "they are on disk";
  ASSERT_TRUE(node.close());
  ASSERT_TRUE(node.reopen());
  EXPECT_FALSE(drop(dropped)) << "after a start too";
  ASSERT_TRUE(node.compact("t"));
  EXPECT_TRUE(drop(dropped)) << "nothing is left of what they deleted";
  EXPECT_EQ(node.cells("t").size(), 1u);
}

// What is repeated or refused stores nothing, and takes no room.
TEST(RangeDeleteLimits, ARepetitionTakesNoRoom) {
  support::TestNodeOptions options;
  options.engine.most_range_delete_bytes = 2000;
  support::RangeTokenBed bed(options);
  ASSERT_TRUE(bed.node.create_table("t", {"f"}));
  support::DropAsk ask;
  ask.start = std::string(300, 'a');
  ask.end = std::string(300, 'b');
  ask.issued_us = bed.now_us();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(bed.drop_in(bed.tablets()[0], ask), "OK");
  support::DropAsk late = ask;
  late.token = "late";
  late.issued_us = bed.now_us() - 24 * 3'600'000'000;
  for (int i = 0; i < 10; ++i) EXPECT_NE(bed.drop_in(bed.tablets()[0], late), "OK");
  EXPECT_TRUE(bed.node.drop_rows("t", "x", "y"));
}

}  // namespace
}  // namespace cellar::engine
