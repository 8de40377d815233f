// Pages of cells on a slow disk: each has at least one row more than the one before it, or fails.
#include "net/http/cell_browser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/net/server/server_bed.h"

namespace cellar::http {
namespace {

using testing::HasSubstr;
using wire::fb::Op;

class CellBrowser : public testing::Test {
 protected:
  static constexpr int kRows = 40;
  static constexpr int kCells = 120;  // of the large row

  CellBrowser() {
    CHECK(peer_.code_of(Op::CreateTable, wire::create_table_body("t", {"f"})) == Errc::ok);
    for (int i = 0; i < kRows; ++i) put(key(i), "q", "v");
  }
  static std::string key(int i) { return fmt::format("k{:03}", i); }
  void put(const std::string& row, const std::string& qualifier, const std::string& value) {
    CHECK(peer_.code_of(Op::MutateRow, wire::set_body("t", row, "f", qualifier, value, 1000)) ==
          Errc::ok);
  }
  // A row behind the others, in many blocks.
  void put_large_row() {
    for (int i = 0; i < kCells; ++i) {
      put("large", fmt::format("q{:03}", i), std::string(60'000, 'v'));
    }
  }
  void slow_down(const std::string& rule) {
    CHECK(peer_.code_of(Op::FlushTable, wire::flush_body("t")) == Errc::ok);
    CHECK(bed_.faults().add("read path=blob/* " + rule));
  }
  Result<BrowsedCells> page(const std::string& after, const std::string& text = {}) {
    BrowseRequest request;
    request.table = "t";
    request.after = after;
    request.cells = kMaxBrowsedCells;
    request.text = text;
    return bed_.world().block_on(bed_.loop(0), browse(bed_.shard(0), request));
  }

  server::ServerBed bed_{1};
  server::Peer peer_{bed_};
};

TEST_F(CellBrowser, APageOfASlowDiskGoesOnBehindTheLastOne) {
  slow_down("nth=1 delay_us=4000000");
  const auto found = page(key(9));
  ASSERT_TRUE(found) << found.error().to_string();
  ASSERT_FALSE(found->cells.empty());
  EXPECT_EQ(found->cells[0].row, key(10));
  EXPECT_EQ(found->next, found->cells.back().row);
  EXPECT_GT(bed_.faults().hits(), 0u);
}

TEST_F(CellBrowser, APageWithoutARowFails) {
  put_large_row();
  slow_down("delay_us=1000000");
  const auto found = page(key(kRows - 1), "no such value");
  ASSERT_FALSE(found) << found->cells.size() << " cells, next: " << found->next;
  EXPECT_EQ(found.error().code, Errc::deadline_exceeded);
  EXPECT_THAT(found.error().message, HasSubstr("behind 'k039'"));
}

TEST_F(CellBrowser, ASlowRowLeavesThoseBeforeItInThePage) {
  put_large_row();
  slow_down("delay_us=1000000");
  const auto found = page("");
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_EQ(found->cells.size(), static_cast<size_t>(kRows));
  EXPECT_EQ(found->next, key(kRows - 1));
  EXPECT_TRUE(found->more);
  EXPECT_FALSE(found->cut);
  const auto behind = page(found->next);
  ASSERT_FALSE(behind) << behind->cells.size();
  EXPECT_EQ(behind.error().code, Errc::deadline_exceeded);
  EXPECT_THAT(behind.error().message, HasSubstr("'large'"));
}

std::string rule_body(std::string_view table) {
  namespace fb = wire::fb;
  flatbuffers::FlatBufferBuilder b;
  const auto name = b.CreateString(table.data(), table.size());
  const auto family = b.CreateString("f");
  const std::vector<fb::RuleNode> nodes{{1, 0, uint8_t(fb::RuleKind::MaxVersions), 0, 0}};
  const std::vector specs{fb::CreateFamilySpec(b, family, true, b.CreateVectorOfStructs(nodes))};
  const auto alter = b.CreateVector(specs);
  return std::string(wire::finish_body(b, fb::CreateAlterTableRequest(b, name, 0, alter)));
}

TEST_F(CellBrowser, ATabletThatIsHeldLeavesTheRowsBeforeItInThePage) {
  ASSERT_EQ(peer_.code_of(Op::CreateTable, wire::create_table_body("u", {"f"}, {"m"})), Errc::ok);
  for (const char* row : {"a", "b", "x"}) {
    ASSERT_EQ(peer_.code_of(Op::MutateRow, wire::set_body("u", row, "f", "q", "v", 1000)),
              Errc::ok);
  }
  ASSERT_EQ(peer_.code_of(Op::FlushTable, wire::flush_body("u")), Errc::ok);
  ASSERT_TRUE(bed_.faults().add("read path=blob/* nth=2 delay_us=1000000"));
  std::optional<Result<BrowsedCells>> page;
  const auto run = [&]() -> Async<void> {
    BrowseRequest request;
    request.table = "u";
    page.emplace(co_await browse(bed_.shard(0), request));
  };
  spawn(bed_.loop(0).executor(), run());
  bed_.world().run_for_us(100'000);  // the first tablet is read, the second one is read from
  ASSERT_TRUE(bed_.faults().add("write path=manifest/* delay_us=20000000"));
  peer_.send(wire::request_frame(Op::AlterTable, 9, rule_body("u")));
  ASSERT_TRUE(bed_.world().run_until([&] { return page.has_value(); }));
  ASSERT_TRUE(*page) << page->error().to_string();
  ASSERT_EQ((*page)->cells.size(), 2u);
  EXPECT_EQ((*page)->next, "b");
  EXPECT_TRUE((*page)->more);
  EXPECT_EQ(peer_.answer(9)->code(), Errc::ok);
}

}  // namespace
}  // namespace cellar::http
