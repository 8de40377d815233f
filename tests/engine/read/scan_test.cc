// ScanCursor: by example, and compared with the model over random histories, shapes and
// interruptions.
#include "engine/read/scan.h"

#include <gtest/gtest.h>

#include "tests/support/scan_driver.h"
#include "tests/support/seeds.h"
#include "tests/support/tablet_bed.h"

namespace cellar::engine {
namespace {

using support::CollectingSink;
using support::OwnedCell;
using support::OwnedMutation;
using support::TabletBed;
using support::to_text;

OwnedMutation set(std::string qualifier, int64_t timestamp_us, std::string value) {
  return {Mutation::Kind::set_cell, "f", std::move(qualifier), std::move(value), timestamp_us};
}
OwnedMutation delete_column(std::string qualifier, int64_t start_us, int64_t end_us) {
  return {Mutation::Kind::delete_from_column, "f", std::move(qualifier), "", 0, start_us, end_us};
}
OwnedMutation delete_row() {
  OwnedMutation op;
  op.kind = Mutation::Kind::delete_from_row;
  return op;
}

ReadSpec everything() {
  ReadSpec spec;
  spec.rows = RowSet::everything();
  return spec;
}

class Scan : public testing::Test {
 protected:
  std::string read(const ReadSpec& spec) {
    const auto cursor = bed_.open(spec);
    CollectingSink sink;
    return to_text(support::scan_all(*cursor, sink, kEntriesPerSlice, [] {}));
  }

  Random random_{1};
  TabletBed bed_{random_};
};

TEST_F(Scan, AnEmptyTabletAnswersNothing) {
  EXPECT_EQ(read(everything()), "");
  ReadSpec none;
  EXPECT_EQ(read(none), "");
}

TEST_F(Scan, VersionsComeNewestFirstAndTheLaterCommitOfATimestampWins) {
  bed_.mutate("r", {set("q", 1, "one"), set("q", 2, "two")});
  bed_.flush();
  bed_.mutate("r", {set("q", 1, "uno")});
  EXPECT_EQ(read(everything()), "r f:q @2 = two\nr f:q @1 = uno\n");
}

TEST_F(Scan, WriteAfterADeleteIsSeenWhateverItsTimestamp) {
  bed_.mutate("r", {set("q", 5, "five")});
  bed_.mutate("r", {delete_row()});
  bed_.flush();
  bed_.mutate("r", {set("q", 3, "three")});
  EXPECT_EQ(read(everything()), "r f:q @3 = three\n");
}

TEST_F(Scan, ReversedRowsKeepTheOrderInsideARow) {
  bed_.mutate("a", {set("q", 1, "1"), set("q", 2, "2")});
  bed_.mutate("aa", {set("q", 1, "3")});
  bed_.mutate("b", {set("p", 1, "4"), set("q", 1, "5")});
  ReadSpec spec = everything();
  spec.reversed = true;
  EXPECT_EQ(read(spec), "b f:p @1 = 4\nb f:q @1 = 5\naa f:q @1 = 3\na f:q @2 = 2\na f:q @1 = 1\n");
}

TEST_F(Scan, DeletedRowsDoNotCountAgainstTheLimit) {
  for (const char* row : {"a", "b", "c", "d"}) bed_.mutate(row, {set("q", 1, row)});
  bed_.mutate("a", {delete_row()});
  bed_.drop_rows("c", "d");
  ReadSpec spec = everything();
  spec.row_limit = 2;
  EXPECT_EQ(read(spec), "b f:q @1 = b\nd f:q @1 = d\n");
  spec.reversed = true;
  EXPECT_EQ(read(spec), "d f:q @1 = d\nb f:q @1 = b\n");
}

TEST_F(Scan, TheTimeRangeComesBeforeTheNewestN) {
  for (int64_t t = 1; t <= 5; ++t) bed_.mutate("r", {set("q", t, fmt::format("{}", t))});
  ReadSpec spec = everything();
  spec.time_range = {2, 5};
  spec.versions = 2;
  EXPECT_EQ(read(spec), "r f:q @4 = 4\nr f:q @3 = 3\n");
}

TEST_F(Scan, AFamilyAddedAgainComesBackEmpty) {
  bed_.mutate("r", {set("q", 1, "old")});
  bed_.replace_family(0);
  EXPECT_EQ(read(everything()), "");
  bed_.mutate("r", {set("q", 1, "new")});
  EXPECT_EQ(read(everything()), "r f:q @1 = new\n");
}

TEST_F(Scan, CommitsThatAreNotVisibleAreNotSeen) {
  bed_.mutate("r", {set("q", 1, "old")});
  bed_.hide_next();
  bed_.mutate("r", {set("q", 1, "new")});
  bed_.drop_rows("", "");
  EXPECT_EQ(read(everything()), "r f:q @1 = old\n");
  bed_.show_all();
  EXPECT_EQ(read(everything()), "");
}

// A row delete sorts before the cells that the cursor has already reached.
TEST_F(Scan, ACommitDuringALoadIsSeenWholeOrNotAtAll) {
  bed_.mutate("a", {set("q", 1, "run")});
  bed_.flush();
  bed_.mutate("a", {set("z", 1, "memtable")});
  Random random(5);
  bool blocked = false;
  for (int i = 0; i < 20; ++i) {
    const auto cursor = bed_.open(everything(), 1);
    CollectingSink sink;
    ScanStep step = cursor->run(sink);
    ASSERT_EQ(step, ScanStep::blocked);
    bed_.mutate("a", {delete_row(), set("q", 2, "later")});
    bed_.mutate("a", {delete_row(), set("q", 1, "run"), set("z", 1, "memtable")});
    while (step == ScanStep::blocked) {
      blocked = true;
      support::load_now(*cursor);
      step = cursor->run(sink);
    }
    ASSERT_EQ(to_text(sink.cells), "a f:q @1 = run\na f:z @1 = memtable\n");
  }
  EXPECT_TRUE(blocked);
}

TEST_F(Scan, AScanThatPausesBetweenRowsReadsTheNextRowAsOfNow) {
  bed_.mutate("a", {set("q", 1, "a")});
  bed_.mutate("b", {set("q", 1, "b")});
  struct PauseAtRowEnd final : CellSink {
    Flow cell(const CellView& cell) override {
      text += fmt::format("{}={} ", cell.row, cell.value);
      return Flow::more;
    }
    Flow end_row(Bytes /*row*/) override { return Flow::pause; }
    std::string text;
  } sink;
  const auto cursor = bed_.open(everything());
  ASSERT_EQ(cursor->run(sink), ScanStep::paused);
  bed_.mutate("b", {set("q", 1, "b later")});
  bed_.mutate("aa", {set("q", 1, "between")});
  while (cursor->run(sink) == ScanStep::paused) {
  }
  EXPECT_EQ(sink.text, "a=a aa=between b=b later ");
}

TEST_F(Scan, AManyMissingKeysScanYieldsInsteadOfHoldingTheLoop) {
  for (int i = 0; i < 1000; ++i) bed_.mutate(fmt::format("k{:04}", i), {set("q", 1, "v")});
  for (const bool reversed : {false, true}) {
    ReadSpec spec;
    for (int i = 0; i < 1000; ++i) spec.rows.add(KeyRange::single(fmt::format("k{:04}x", i)));
    spec.rows.normalize();
    spec.reversed = reversed;
    const auto cursor = bed_.open(spec);
    CollectingSink sink;
    size_t yields = 0;
    support::scan_all(*cursor, sink, 100, [&] { ++yields; });
    EXPECT_GT(yields, 10u);
    EXPECT_TRUE(sink.cells.empty());
  }
}

TEST_F(Scan, MalformedBytesAreDataLossNotAnAnswer) {
  bed_.mutate("a", {set("q", 1, "a")});
  bed_.flush();
  bed_.runs()[0]->entries[0].second = "\x07";
  const auto cursor = bed_.open(everything());
  CollectingSink sink;
  ASSERT_EQ(cursor->run(sink), ScanStep::failed);
  EXPECT_EQ(cursor->error().code, Errc::data_loss);
  EXPECT_TRUE(sink.cells.empty());
}

TEST_F(Scan, RandomHistoriesEqualTheModelHoweverTheReadIsInterrupted) {
  for (const uint64_t seed : test_seeds(400)) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    TabletBed bed(random);
    for (uint64_t i = 0, n = random.below(120); i < n; ++i) {
      if (random.one_in(40)) bed.freeze();
      if (random.one_in(20)) bed.flush();
      bed.random_commit();
    }
    if (random.one_in(3)) {  // some commits are not yet durable
      bed.hide_next();
      for (int i = 0; i < 5; ++i) bed.mutate(bed.random_row(), {bed.random_op()});
    }
    for (int i = 0; i < 12; ++i) {
      const ReadSpec spec = bed.random_spec();
      const auto cursor = bed.open(spec, random.one_in(2) ? 1 + random.below(4) : 0);
      CollectingSink sink(&random, 1 + random.below(6) + 1);
      const auto got =
          support::scan_all(*cursor, sink, 1 + static_cast<uint32_t>(random.below(40)), [] {});
      ASSERT_EQ(to_text(got), to_text(bed.expected(spec)));
      EXPECT_EQ(cursor->rows(), sink.rows);
    }
  }
}

// Writers continue while the scan is open. Each row must be the state at some single stamp between
// opening and end.
TEST_F(Scan, EveryRowIsReadAsOfOneStampWhileWritersGoOn) {
  for (const uint64_t seed : test_seeds(300)) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    TabletBed bed(random);
    for (uint64_t i = 0, n = random.below(60); i < n; ++i) {
      if (random.one_in(20)) bed.flush();
      bed.random_commit();
    }
    ReadSpec spec = everything();
    spec.reversed = random.one_in(2);
    std::vector<CommitStamp> stamps{bed.visible_stamp()};
    const auto cursor = bed.open(spec, 3);
    CollectingSink sink(&random, 2);
    const auto got = support::scan_all(*cursor, sink, 3, [&] {
      if (random.one_in(4)) {
        std::vector<OwnedMutation> ops;
        for (uint64_t i = 0, n = 1 + random.below(4); i < n; ++i) ops.push_back(bed.random_op());
        if (random.one_in(8))
          bed.drop_rows(bed.random_row(), "");
        else
          bed.mutate(bed.random_row(), ops);
        stamps.push_back(bed.visible_stamp());
      }
    });
    std::map<std::string, std::vector<OwnedCell>> rows;
    for (const OwnedCell& cell : got) rows[cell.row].push_back(cell);
    std::set<std::string> names;
    for (const OwnedCell& cell : bed.model().read(everything(), stamps[0])) names.insert(cell.row);
    for (const auto& [name, cells] : rows) names.insert(name);
    for (const std::string& name : names) {
      ReadSpec one;
      one.rows.add(KeyRange::single(name));
      bool matches = false;
      for (const CommitStamp at : stamps)
        matches = matches || to_text(bed.model().read(one, at)) == to_text(rows[name]);
      ASSERT_TRUE(matches) << "row " << escape_bytes(name) << " was\n" << to_text(rows[name]);
    }
  }
}

TEST_F(Scan, TenThousandVersionsAreSteppedOverNotThrough) {
  for (int64_t t = 0; t < 10'000; ++t) bed_.mutate("r", {set("q", t, "v"), set("z", t, "v")});
  bed_.flush();
  ReadSpec spec = everything();
  spec.versions = 1;
  auto cursor = bed_.open(spec);
  CollectingSink sink;
  EXPECT_EQ(support::scan_all(*cursor, sink, kEntriesPerSlice, [] {}).size(), 2u);
  EXPECT_LT(cursor->entries_read(), 100u);
  spec.versions = 0;
  spec.time_range = {10, 20};
  cursor = bed_.open(spec);
  CollectingSink ranged;
  EXPECT_EQ(support::scan_all(*cursor, ranged, kEntriesPerSlice, [] {}).size(), 20u);
  EXPECT_LT(cursor->entries_read(), 200u);
}

// One row, 100,000 deletes of one column: a quadratic reader would take minutes.
TEST_F(Scan, AHundredThousandColumnDeletesAreReadOnceEach) {
  for (int64_t i = 0; i < 100'000; ++i) bed_.mutate("r", {delete_column("q", i, i + 1 + i % 50)});
  for (int64_t i = 0; i < 1000; ++i) bed_.mutate("r", {set("q", i * 50, "v")});
  const auto cursor = bed_.open(everything());
  CollectingSink sink;
  EXPECT_EQ(support::scan_all(*cursor, sink, kEntriesPerSlice, [] {}).size(), 1000u);
  EXPECT_LE(cursor->entries_read(), 101'000u);
}

}  // namespace
}  // namespace cellar::engine
