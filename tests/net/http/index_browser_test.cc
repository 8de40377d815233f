// Pages of what an index finds: each continues behind the one before it, over all tablets.
#include "net/http/index_browser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/net/indexes/index_server_bed.h"

namespace cellar::http {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using wire::fb::Op;

class IndexBrowser : public testing::Test, protected server::IndexBed {
 protected:
  static constexpr int kRows = 30;

  static std::string key(int i) { return fmt::format("k{:02}", i); }
  static std::string value(int i) { return fmt::format("v{:02}", i * 7 % kRows); }
  // Rows in three tablets; the order of their values is another one.
  void fill() {
    create_table({key(10), key(20)});
    for (int i = 0; i < kRows; ++i) set(key(i), value(i), 1000 * (i + 1));
  }
  BrowseIndexRequest request(size_t hits = kMaxBrowsedHits) {
    BrowseIndexRequest one;
    one.table = "t";
    one.spec.index = "i";
    one.hits = hits;
    return one;
  }
  Result<BrowsedHits> page(BrowseIndexRequest one) {
    return bed.world().block_on(bed.loop(0), browse_index(bed.shard(0), std::move(one)));
  }
  Errc refusal(BrowseIndexRequest one) {
    const auto found = page(std::move(one));
    return found ? Errc::ok : found.error().code;
  }
  // "row=value" of each; with what hides it in parentheses.
  static std::vector<std::string> texts(const BrowsedHits& page) {
    std::vector<std::string> all;
    for (const BrowsedHit& hit : page.hits) {
      std::string text = hit.cell.row + "=" + hit.cell.value;
      if (!hit.found) text += fmt::format("({})", static_cast<int>(hit.cell.note.cause));
      all.push_back(std::move(text));
    }
    return all;
  }
  static std::string hidden(const std::string& hit, DeathCause cause) {
    return fmt::format("{}({})", hit, static_cast<int>(cause));
  }
  std::vector<std::string> all_pages(BrowseIndexRequest one) {
    std::vector<std::string> all;
    while (true) {
      const auto found = page(one);
      CHECK(found, "no page: {}", found.error().message);
      CHECK(found->hits.size() <= one.hits);
      for (std::string& text : texts(*found)) all.push_back(std::move(text));
      if (!found->more) return all;
      CHECK(found->next != one.spec.after, "a page has not moved");
      one.spec.after = found->next;
    }
  }
  std::vector<std::string> in_order() {
    std::vector<std::string> all(kRows);
    for (int i = 0; i < kRows; ++i) all[i * 7 % kRows] = key(i) + "=" + value(i);
    return all;
  }
};

TEST_F(IndexBrowser, PagesGoOnBehindEachOtherOverAllTablets) {
  fill();
  create_index("i");
  std::vector<std::string> expected = in_order();
  for (const size_t hits : {1, 7, 30, 100}) EXPECT_EQ(all_pages(request(hits)), expected) << hits;
  ASSERT_EQ(peer.code_of(Op::FlushTable, wire::flush_body("t")), Errc::ok);
  EXPECT_EQ(all_pages(request(4)), expected);
  std::ranges::reverse(expected);
  BrowseIndexRequest reversed = request(8);
  reversed.spec.reversed = true;
  EXPECT_EQ(all_pages(reversed), expected);
  EXPECT_EQ(scans(), 0u);
}

TEST_F(IndexBrowser, APageGoesOnInTabletsThatWereSplitMeanwhile) {
  fill();
  create_index("i");
  const auto first = page(request(11));
  ASSERT_TRUE(first) << first.error().message;
  std::vector<std::string> all = texts(*first);
  split(peer, key(15), key(15));
  move(peer, key(0));
  BrowseIndexRequest next = request(11);
  next.spec.after = first->next;
  for (std::string& text : all_pages(next)) all.push_back(std::move(text));
  EXPECT_EQ(all, in_order());
}

TEST_F(IndexBrowser, FindsUnderConditionsWithCoveredCells) {
  fill();
  put(key(3), "g", "p", std::string(1000, 'p'), 5000);
  create_index("i", {.covered = {{"g", "p"}}});
  BrowseIndexRequest one = request();
  one.spec.values = KeyPartRange::exactly(value(3));
  const auto found = page(one);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_THAT(texts(*found), ElementsAre(key(3) + "=" + value(3)));
  EXPECT_FALSE(found->more);
  ASSERT_EQ(found->hits[0].covered.size(), 1u);
  EXPECT_EQ(found->hits[0].covered[0].family, "g");
  EXPECT_EQ(found->hits[0].covered[0].value.size(), kShownValueBytes);
  EXPECT_EQ(found->hits[0].covered[0].value_bytes, 1000u);
  one.spec.values = KeyPartRange{"v05", "v07", false, true};
  EXPECT_EQ(all_pages(one).size(), 3u);
  one.spec.rows = RowSet();
  one.spec.rows.add(KeyRange::prefix("none"));
  EXPECT_EQ(all_pages(one).size(), 0u);
}

TEST_F(IndexBrowser, ExplainsWhatIsNotFound) {
  create_table({"m"});
  create_index("i");
  set("a", "red", 1000);
  set("z", "red", 1000);
  set("z", "blue", 2000);
  BrowseIndexRequest one = request();
  EXPECT_THAT(all_pages(one), ElementsAre("z=blue", "a=red"));
  one.spec.explain = true;
  EXPECT_THAT(all_pages(one),
              ElementsAre("z=blue", "a=red", hidden("z=red", DeathCause::not_newest)));
  set("a", "green", 1000);
  EXPECT_THAT(all_pages(one), ElementsAre("z=blue", "a=green", hidden("a=", DeathCause::replaced),
                                          hidden("z=red", DeathCause::not_newest)));
}

TEST_F(IndexBrowser, RefusesWhatTheIndexCannotAnswer) {
  fill();
  create_index("i");
  BrowseIndexRequest one = request();
  one.table = "absent";
  EXPECT_EQ(refusal(one), Errc::not_found);
  one = request();
  one.spec.index = "absent";
  EXPECT_EQ(refusal(one), Errc::not_found);
  one = request();
  one.spec.time = TimeRange{0, 1000};
  EXPECT_EQ(refusal(one), Errc::invalid_argument);
  one = request();
  one.spec.qualifiers = KeyPartRange::exactly("q");
  EXPECT_EQ(refusal(one), Errc::invalid_argument);
  one = request();
  one.spec.values = KeyPartRange{"b", "a"};
  EXPECT_EQ(refusal(one), Errc::invalid_argument);
  one = request();
  one.spec.after = "\x01";
  EXPECT_EQ(refusal(one), Errc::invalid_argument);
  EXPECT_EQ(scans(), 0u);
}

TEST_F(IndexBrowser, AnIndexThatIsNotReadyTellsTheShareOfTheTable) {
  fill();
  ASSERT_EQ(peer.code_of(Op::FlushTable, wire::flush_body("t")), Errc::ok);
  ASSERT_EQ(peer.code_of(Op::CreateIndex, wire::create_index_body("t", "i")), Errc::ok);
  const auto found = page(request());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Errc::failed_precondition);
  EXPECT_THAT(found.error().message, HasSubstr("index 'i' of table 't' is not ready: "));
  EXPECT_EQ(scans(), 0u);
}

// The values that a condition on rows leaves are behind many that it does not: on a slow disk a
// page ends without a hit, and the next ones go on behind it.
TEST_F(IndexBrowser, APageOfASlowDiskMovesOn) {
  create_table({});
  create_index("i");
  constexpr int kWritten = 2000;
  for (int i = 0; i < kWritten; ++i) set(fmt::format("k{:04}", i), fmt::format("v{:04}", i), 1000);
  for (int i = 0; i < kWritten - 1; ++i) set(fmt::format("k{:04}", i), "w", 2000);
  ASSERT_EQ(peer.code_of(Op::FlushTable, wire::flush_body("t")), Errc::ok);
  ASSERT_TRUE(bed.faults().add("read path=blob/* delay_us=200000"));
  BrowseIndexRequest one = request();
  one.spec.values = KeyPartRange{"v", "w"};
  const int64_t began_us = bed.world().clock().boot_us();
  const auto first = page(one);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_LE(bed.world().clock().boot_us() - began_us, 2 * kMaxBrowseUs);
  EXPECT_TRUE(first->more);
  EXPECT_TRUE(first->hits.empty());
  EXPECT_THAT(all_pages(one), ElementsAre(fmt::format("k{0:04}=v{0:04}", kWritten - 1)));
}

}  // namespace
}  // namespace cellar::http
