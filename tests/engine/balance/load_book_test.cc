// LoadBook turns counters into rates.
#include "engine/balance/load_book.h"

#include <gtest/gtest.h>

namespace cellar::engine {
namespace {

constexpr int64_t kSecond = 1'000'000;

TabletFigures figures(uint64_t id, uint64_t requests, uint32_t shard = 0) {
  TabletFigures of;
  of.tablet.id = TabletId{id};
  of.tablet.table = TableId{1};
  of.tablet.shard = ShardId{shard};
  of.writes = requests;
  return of;
}

TEST(LoadBook, CountersBecomeSmoothedRates) {
  LoadBook book(2, {});
  EXPECT_EQ(book.look({figures(1, 5000)}, 10 * kSecond, true).tablets[0].load, 0)
      << "nobody knows since when";
  EXPECT_EQ(book.look({figures(1, 6000)}, 11 * kSecond, true).tablets[0].load, 500);
  EXPECT_EQ(book.look({figures(1, 7000)}, 12 * kSecond, true).tablets[0].load, 750);
  EXPECT_EQ(book.look({figures(1, 9000)}, 12 * kSecond, false).tablets[0].load, 750)
      << "a look in between measures nothing";
  const BalanceView later = book.look({figures(1, 7000)}, 14 * kSecond, true);
  EXPECT_EQ(later.tablets[0].load, 375);
  EXPECT_EQ(later.tablets[0].idle_us, 2 * kSecond);
}

TEST(LoadBook, ATabletThatIsNewCountsFromTheLastLook) {
  LoadBook book(2, {});
  book.look({figures(1, 0)}, 10 * kSecond, true);
  EXPECT_EQ(book.look({figures(1, 0), figures(2, 300)}, 11 * kSecond, true).tablets[1].load, 300);
}

TEST(LoadBook, PartsShareTheLoadAndAMovedTabletKeepsItAndSettles) {
  LoadBook book(2, {});
  book.look({figures(1, 0)}, 10 * kSecond, true);
  book.look({figures(1, 4000)}, 11 * kSecond, true);
  const int64_t now_us = 11 * kSecond;
  book.was_split(TabletId{1}, {figures(2, 0).tablet, figures(3, 0).tablet}, now_us);
  BalanceView view = book.look({figures(2, 0), figures(3, 0)}, now_us, false);
  EXPECT_EQ(view.tablets[0].load, 1000);
  EXPECT_EQ(view.tablets[1].load, 1000);
  book.was_moved(TabletId{3}, now_us);
  view = book.look({figures(2, 500), figures(3, 500, 1)}, 12 * kSecond, true);
  EXPECT_EQ(view.tablets[1].load, 750);
  EXPECT_TRUE(view.tablets[1].moved_recently);
  EXPECT_FALSE(view.tablets[0].moved_recently);
  view = book.look({figures(2, 500), figures(3, 500, 1)}, now_us + LoadBook::kRestUs, true);
  EXPECT_FALSE(view.tablets[1].moved_recently);
}

TEST(LoadBook, ImbalanceCountsFromWhereItBeganAndAnewAfterEachChange) {
  LoadBook book(2, {});
  book.look({figures(1, 0)}, 10 * kSecond, true);
  EXPECT_EQ(book.look({figures(1, 4000)}, 11 * kSecond, true).imbalanced_us, 0);
  EXPECT_EQ(book.look({figures(1, 8000)}, 12 * kSecond, true).imbalanced_us, kSecond);
  book.was_refused(TabletId{1}, 12 * kSecond);
  BalanceView view = book.look({figures(1, 12000)}, 13 * kSecond, true);
  EXPECT_EQ(view.imbalanced_us, 2 * kSecond);
  EXPECT_TRUE(view.tablets[0].refused);
  book.was_moved(TabletId{1}, 13 * kSecond);
  EXPECT_EQ(book.look({figures(1, 100, 1)}, 14 * kSecond, true).imbalanced_us, 0);
}

TEST(LoadBook, SoManyChangesAMinute) {
  BalanceOptions options;
  options.per_minute = 3;
  LoadBook book(2, options);
  EXPECT_EQ(book.look({figures(1, 0)}, 10 * kSecond, true).changes_left, 3u);
  book.was_moved(TabletId{1}, 10 * kSecond);
  book.was_split(TabletId{1}, {figures(2, 0).tablet, figures(3, 0).tablet}, 20 * kSecond);
  EXPECT_EQ(book.look({figures(1, 0)}, 20 * kSecond, true).changes_left, 1u);
  EXPECT_EQ(book.look({figures(1, 0)}, 70 * kSecond, true).changes_left, 2u);
  EXPECT_EQ(book.look({figures(1, 0)}, 80 * kSecond, true).changes_left, 3u);
}

}  // namespace
}  // namespace cellar::engine
