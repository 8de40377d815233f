// RowReader: the same answers as the model and the cursor, whatever interrupts it.
#include "engine/read/row_reader.h"

#include <gtest/gtest.h>

#include "engine/read/scan.h"
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

OwnedMutation set_row_cell(std::string qualifier, int64_t timestamp_us, std::string value) {
  return {Mutation::Kind::set_cell, "f", std::move(qualifier), std::move(value), timestamp_us};
}

ReadSpec row(const std::string& key) {
  ReadSpec spec;
  spec.rows.add(KeyRange::single(key));
  return spec;
}

// A reader over the memtables and runs of a bed, with counts of how its reads ended.
class Rows {
 public:
  explicit Rows(TabletBed& bed) : bed_(bed), retention_(bed.schema()) {}

  // `between` runs where the reader stopped before the end of the row, and whenever a cursor
  // returns.
  template <class Between>
  std::vector<OwnedCell> read(const ReadSpec& spec, CollectingSink& sink, Random& random,
                              Between between) {
    EXPECT_TRUE(RowReader::may_read(spec));
    RowReader reader(bed_.schema(), retention_);
    ScanSetup setup = bed_.setup(spec);
    for (size_t i = bed_.runs().size(); i > 0; --i)
      TabletBed::add_source(setup,
                            std::make_unique<support::EntryRunSource>(
                                *bed_.runs()[i - 1], random.one_in(2) ? &random : nullptr, 3));
    RowStart start;
    const auto outcome = reader.read(
        {.spec = spec, .sources = *setup.sources, .stamp = bed_.visible_stamp()}, sink, start);
    ++outcomes[static_cast<size_t>(outcome)];
    if (outcome == RowReader::Outcome::done) {
      EXPECT_FALSE(sink.in_row());
      return sink.cells;
    }
    if (outcome == RowReader::Outcome::paused) EXPECT_GT(start.cells, 0u);
    midway += start.cells != 0;
    setup.started = start;
    ScanCursor cursor(std::move(setup));
    between();
    return support::scan_all(cursor, sink, 1 + static_cast<uint32_t>(random.below(40)), between);
  }

  std::array<size_t, 3> outcomes{};
  size_t midway = 0;  // handed over or paused after a cell

 private:
  TabletBed& bed_;
  TableRetention retention_;
};

// The clock of a shard may be earlier than the stamp of a rule change that it has received.
TEST(RowReader, NothingIsReadAsOfAMomentBeforeTheLastChangeOfARule) {
  Random random(1);
  TabletBed bed(random);
  bed.mutate("r", {set_row_cell("a", 5, "1"), set_row_cell("b", 5, "2")});
  const CommitStamp changed{bed.visible_stamp().value() + 7'000'000};
  PastRule past;
  past.until = changed;
  bed.schema().families[0].history = {past};
  const TableRetention retention(bed.schema());
  RowReader reader(bed.schema(), retention);
  const ReadSpec spec = row("r");
  const ScanSetup setup = bed.setup(spec);
  CollectingSink sink;
  RowStart start;
  (void)reader.read({.spec = spec, .sources = *setup.sources, .stamp = bed.visible_stamp()}, sink,
                    start);
  EXPECT_EQ(start.now_us, static_cast<int64_t>(changed.value() / 1000));
}

TEST(RowReader, RandomHistoriesEqualTheModelHoweverTheReadIsInterrupted) {
  std::array<size_t, 3> outcomes{};
  size_t midway = 0;
  for (const uint64_t seed : test_seeds(400)) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    TabletBed bed(random);
    if (random.one_in(2))
      bed.schema().families[random.below(2)].rule =
          RetentionRule::max_versions(1 + static_cast<int32_t>(random.below(3)));
    const bool counts = bed.schema().families[0].rule != RetentionRule() ||
                        bed.schema().families[1].rule != RetentionRule();
    for (uint64_t i = 0, n = random.below(120); i < n; ++i) {
      if (random.one_in(40)) bed.freeze();
      if (random.one_in(20)) bed.flush();
      bed.random_commit();
    }
    if (random.one_in(3)) {  // some commits are not yet durable
      bed.hide_next();
      for (int i = 0; i < 5; ++i) bed.mutate(bed.random_row(), {bed.random_op()});
    }
    Rows rows(bed);
    for (int i = 0; i < 12; ++i) {
      ReadSpec spec = bed.random_spec();
      spec.rows = row(bed.random_row()).rows;
      // The model knows no rules: with them, a cursor that starts afresh is the reference.
      CollectingSink plain;
      const auto expected = counts
                                ? support::scan_all(*bed.open(spec), plain, kEntriesPerSlice, [] {})
                                : bed.expected(spec);
      CollectingSink sink(&random, 2 + random.below(6));
      const auto got = rows.read(spec, sink, random, [] {});
      ASSERT_EQ(to_text(got), to_text(expected));
    }
    for (size_t i = 0; i < outcomes.size(); ++i) outcomes[i] += rows.outcomes[i];
    midway += rows.midway;
  }
  for (const size_t times : outcomes) EXPECT_GT(times, 100u);
  EXPECT_GT(midway, 100u);
}

// Commits made while the sink pauses are invisible to the rest of the row.
TEST(RowReader, ARowThatIsHandedOverIsReadAsOfOneCommit) {
  Random random(1);
  TabletBed bed(random);
  for (int i = 0; i < 8; ++i) bed.mutate("r", {set_row_cell(fmt::format("q{}", i), 1, "old")});
  bed.flush();
  const std::string before = to_text(bed.expected(row("r")));
  for (int i = 0; i < 40; ++i) {
    CollectingSink sink(&random, 2);
    Rows rows(bed);
    const std::string expected = to_text(bed.expected(row("r")));
    const auto got = rows.read(row("r"), sink, random, [&] {
      bed.mutate("r",
                 {set_row_cell(fmt::format("q{}", random.below(8)), 1, fmt::format("new{}", i))});
    });
    ASSERT_EQ(to_text(got), expected);
  }
  EXPECT_NE(to_text(bed.expected(row("r"))), before);
}

TEST(RowReader, LongRowsAndRunsOfUnwantedVersionsGoToACursor) {
  Random random(1);
  TabletBed bed(random);
  for (int64_t t = 1; t <= 2000; ++t) bed.mutate("r", {set_row_cell("q", t, "v")});
  Rows rows(bed);
  CollectingSink all;
  EXPECT_EQ(rows.read(row("r"), all, random, [] {}).size(), 2000u);
  ReadSpec newest = row("r");
  newest.versions = 1;
  CollectingSink one;
  EXPECT_EQ(rows.read(newest, one, random, [] {}).size(), 1u);
  EXPECT_EQ(rows.outcomes[static_cast<size_t>(RowReader::Outcome::handed_over)], 2u);
  EXPECT_EQ(rows.midway, 2u);
}

TEST(RowReader, ReadsOnlyOneRowOfPlainCells) {
  EXPECT_TRUE(RowReader::may_read(row("r")));
  EXPECT_TRUE(RowReader::may_read(row(std::string("a\0b", 3))));
  ReadSpec spec;
  spec.rows = RowSet::everything();
  EXPECT_FALSE(RowReader::may_read(spec));
  EXPECT_FALSE(RowReader::may_read(ReadSpec()));
  spec = row("r");
  spec.explain = true;
  EXPECT_FALSE(RowReader::may_read(spec));
  spec = row("r");
  spec.with_expiry = true;
  EXPECT_FALSE(RowReader::may_read(spec));
}

}  // namespace
}  // namespace cellar::engine
