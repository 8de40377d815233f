// NewestRead: reads that leave older sources closed give what a merge of all sources gives.
#include "engine/read/newest_read.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "engine/filter/compiled_filter.h"
#include "engine/filter/named_columns.h"
#include "engine/read/row_columns.h"
#include "engine/read/row_reader.h"
#include "engine/read/scan.h"
#include "tests/support/scan_driver.h"
#include "tests/support/seeds.h"
#include "tests/support/tablet_bed.h"

namespace cellar::engine {
namespace {

using support::CollectingSink;
using support::EntryRunSource;
using support::OwnedCell;
using support::OwnedMutation;
using support::TabletBed;
using support::to_text;

OwnedMutation set_newest(std::string qualifier, int64_t timestamp_us, std::string value) {
  return {Mutation::Kind::set_cell, "f", std::move(qualifier), std::move(value), timestamp_us};
}

// The filter of the newest versions of columns, as clients send it.
FilterSpec filter_of(const NewestOf& newest) {
  FilterSpec spec;
  const auto add = [&spec](FilterKind kind, uint32_t children, int64_t start = 0) {
    FilterNode node;
    node.kind = kind;
    node.child_count = children;
    node.start = start;
    spec.nodes.push_back(std::move(node));
  };
  if (newest.versions != 0) add(FilterKind::chain, 2);
  if (newest.columns.size() > 1) {
    add(FilterKind::interleave, static_cast<uint32_t>(newest.columns.size()));
  }
  for (const ColumnName& column : newest.columns) {
    FilterNode node;
    node.kind = FilterKind::column_range;
    node.family = column.family;
    node.has_start = node.has_end = node.end_closed = true;
    node.text = node.end_text = column.qualifier;
    spec.nodes.push_back(std::move(node));
  }
  if (newest.versions != 0) add(FilterKind::cells_per_column, 0, newest.versions);
  return spec;
}

// Without columns: of every column.
ReadSpec spec_of(const std::string& row, const NewestOf& newest) {
  ReadSpec spec;
  spec.rows.add(KeyRange::single(row));
  if (newest.columns.empty()) {
    spec.versions = newest.versions;
    EXPECT_TRUE(wanted_columns(spec).every_column);
    return spec;
  }
  const auto plan = plan_filter(filter_of(newest));
  EXPECT_TRUE(plan);
  plan->narrow(spec);
  EXPECT_NE(wanted_columns(spec).columns, nullptr);
  return spec;
}

// Counts how often it is opened.
class CountedRun final : public ReadSource {
 public:
  CountedRun(const support::EntryRun& run, Random* random, size_t* opened)
      : inner_(run, random, 4), opened_(opened) {}
  SourceBounds bounds() const override { return inner_.bounds(); }
  EntryIterator* open(const ReadScope& scope, IteratorArena& arena) const override {
    if (opened_ != nullptr) ++*opened_;
    return inner_.open(scope, arena);
  }
  const std::vector<RangeTombstone>& range_deletes() const override {
    return inner_.range_deletes();
  }
  bool is_run() const override { return true; }

 private:
  EntryRunSource inner_;
  size_t* opened_;
};

ScanSetup setup_of(TabletBed& bed, const ReadSpec& spec, Random* blocks, size_t* opened = nullptr) {
  ScanSetup setup = bed.setup(spec);
  for (size_t i = bed.runs().size(); i > 0; --i) {
    TabletBed::add_source(setup, std::make_unique<CountedRun>(*bed.runs()[i - 1], blocks, opened));
  }
  return setup;
}

// The whole row by a merge, of which the newest versions of the columns are chosen here.
std::vector<OwnedCell> expected(TabletBed& bed, const std::string& row, const NewestOf& newest,
                                const RowStart& at) {
  ReadSpec all;
  all.rows.add(KeyRange::single(row));
  ScanSetup setup = setup_of(bed, all, nullptr);
  setup.started = at;
  ScanCursor cursor(std::move(setup));
  CollectingSink sink;
  std::vector<OwnedCell> chosen;
  std::map<ColumnName, uint32_t> taken;
  for (OwnedCell& cell : support::scan_all(cursor, sink, kEntriesPerSlice, [] {})) {
    const ColumnName column{cell.family, cell.qualifier};
    const bool every = newest.columns.empty();
    if (!every && std::ranges::find(newest.columns, column) == newest.columns.end()) continue;
    if (newest.versions != 0 && taken[column]++ >= newest.versions) continue;
    chosen.push_back(std::move(cell));
  }
  return chosen;
}

void load_now(NewestRead& read) {
  struct Waiter final : BlockWaiter {
    void block_done() override {}
  } waiter;
  std::vector<BlockRequest*> requests;
  read.collect(requests);
  for (BlockRequest* request : requests) request->load(waiter);
}

std::vector<OwnedCell> by_newest_read(TabletBed& bed, const ReadSpec& spec, const RowStart& at,
                                      Random* blocks, size_t& opened, size_t& unfit) {
  const TableRetention retention(bed.schema());
  NewestRead read(bed.schema(), retention);
  const WantedColumns wanted = wanted_columns(spec);
  const ScanSetup setup = setup_of(bed, spec, blocks, &opened);
  const std::string row = spec.rows.ranges().front().start;
  RowColumns row_columns;
  const NamedColumns* columns =
      wanted.every_column ? row_columns.of(*setup.sources) : wanted.columns;
  if (columns == nullptr) {  // at most one source has cells
    opened = bed.runs().size();
    return expected(bed, row, {{}, spec.versions}, at);
  }
  auto outcome = read.run({.columns = *columns,
                           .every_column = wanted.every_column,
                           .versions = wanted.versions,
                           .sources = *setup.sources,
                           .row = row,
                           .stamp = at.stamp,
                           .now_us = at.now_us,
                           .must_fit = true});
  while (outcome == NewestRead::Outcome::blocked) {
    load_now(read);
    outcome = read.resume();
  }
  unfit += outcome == NewestRead::Outcome::unfit;
  read.close();
  std::vector<OwnedCell> cells;
  for (size_t i = 0; i < read.cells(); ++i) {
    const CellView cell = read.cell(i);
    cells.push_back({std::string(cell.row), std::string(cell.family), std::string(cell.qualifier),
                     cell.timestamp_us, std::string(cell.value), ""});
  }
  return cells;
}

// A cursor that explains.
std::vector<OwnedCell> explained(TabletBed& bed, ReadSpec spec, const RowStart& at, Random* blocks,
                                 RunCount& runs) {
  spec.explain = true;
  ScanSetup setup = setup_of(bed, spec, blocks);
  setup.started = at;
  ScanCursor cursor(std::move(setup));
  CollectingSink sink;
  std::vector<OwnedCell> cells = support::scan_all(cursor, sink, kEntriesPerSlice, [] {});
  runs = cursor.runs();
  return cells;
}

// As the node reads: in one call if all is in memory, else by a cursor.
std::vector<OwnedCell> as_the_node(TabletBed& bed, const ReadSpec& spec, const RowStart& at,
                                   Random& random) {
  const TableRetention retention(bed.schema());
  RowReader reader(bed.schema(), retention);
  ScanSetup setup = setup_of(bed, spec, random.one_in(2) ? &random : nullptr);
  EXPECT_TRUE(RowReader::may_read(spec));
  CollectingSink sink(&random, 3);
  RowStart start;
  const auto outcome =
      reader.read({.spec = spec, .sources = *setup.sources, .stamp = at.stamp, .now_us = at.now_us},
                  sink, start);
  if (outcome == RowReader::Outcome::done) return sink.cells;
  setup.started = start;
  if (start.cells == 0) setup.started = at;
  ScanCursor cursor(std::move(setup));
  return support::scan_all(cursor, sink, 1 + static_cast<uint32_t>(random.below(40)), [] {});
}

RetentionRule random_rule(Random& random) {
  const auto versions = [&] {
    return RetentionRule::max_versions(1 + static_cast<int32_t>(random.below(3)));
  };
  const auto age = [&] {
    return RetentionRule::max_age_us(1000 * (1 + static_cast<int64_t>(random.below(6))));
  };
  switch (random.below(5)) {
    case 0:
      return versions();
    case 1:
      return age();
    case 2:
      return RetentionRule::union_of({versions(), age()});
    case 3:
      return RetentionRule::intersection_of({versions(), age()});
    default:
      return {};
  }
}

TEST(NewestRead, RandomHistoriesEqualAMergeOfEverything) {
  // Of named columns, and of every column.
  std::array<size_t, 2> reads{};
  std::array<size_t, 2> stopped{};
  size_t unfit = 0;
  for (const uint64_t seed : test_seeds(800)) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    TabletBed bed(random);
    for (FamilySchema& family : bed.schema().families) family.rule = random_rule(random);
    const bool in_order = random.one_in(2);
    int64_t time_us = 1000;
    for (uint64_t i = 0, n = random.below(100); i < n; ++i) {
      if (random.one_in(30)) bed.freeze();
      if (random.one_in(10)) bed.flush();
      if (random.one_in(3)) {
        bed.random_commit();
        continue;
      }
      // Mostly cells, as clients write them: rising timestamps of milliseconds, and lives.
      OwnedMutation op = bed.random_op();
      op.kind = Mutation::Kind::set_cell;
      time_us += 1000;
      op.timestamp_us = in_order ? time_us : static_cast<int64_t>(1000 * random.below(40));
      op.value = fmt::format("w{}", i);
      if (random.one_in(4)) op.expire_at_us = time_us + static_cast<int64_t>(random.below(9000));
      bed.mutate(bed.random_row(), {op});
    }
    if (random.one_in(3)) {  // some commits are not yet durable
      bed.hide_next();
      for (int i = 0; i < 5; ++i) bed.mutate(bed.random_row(), {bed.random_op()});
    }
    for (int i = 0; i < 12; ++i) {
      NewestOf newest;
      newest.versions = static_cast<uint32_t>(random.below(4));
      for (uint64_t k = 0, n = random.below(4); k < n; ++k) {
        const OwnedMutation op = bed.random_op();
        newest.columns.push_back({op.family.empty() ? "f" : op.family, op.qualifier});
      }
      normalize(newest.columns);
      const std::string row = bed.random_row();
      const ReadSpec spec = spec_of(row, newest);
      RowStart at;
      at.stamp = bed.visible_stamp();
      at.now_us = time_us + static_cast<int64_t>(random.below(12)) * 1000;
      const std::string wanted = to_text(expected(bed, row, newest, at));
      size_t opened = 0;
      Random* blocks = random.one_in(2) ? &random : nullptr;
      const ScanSetup all = setup_of(bed, spec, nullptr);
      RunCount runs;
      Random others(static_cast<uint64_t>(i));
      ASSERT_EQ(to_text(explained(bed, spec, at, blocks != nullptr ? &others : nullptr, runs)),
                wanted);
      ASSERT_EQ(runs.all, bed.runs().size());
      if (!is_row_covered(*all.sources, row, at.stamp)) {
        ASSERT_EQ(to_text(by_newest_read(bed, spec, at, blocks, opened, unfit)), wanted);
        const bool every = newest.columns.empty();
        // After many waits the cursor reads every column of the row by a merge.
        if (!every || blocks == nullptr) {
          ASSERT_EQ(runs.opened, opened);
        }
        ++reads[every];
        stopped[every] += opened < bed.runs().size();
      }
      ASSERT_EQ(to_text(as_the_node(bed, spec, at, random)), wanted);
    }
  }
  for (const size_t every : {0u, 1u})
    EXPECT_GT(stopped[every], reads[every] / 20) << every << ": " << reads[every];
  EXPECT_EQ(unfit, 0u);
}

class Sources {
 public:
  explicit Sources(TabletBed& bed) : bed_(bed) {}
  size_t left_closed(const NewestOf& newest) {
    const ReadSpec spec = spec_of("r", newest);
    RowStart at;
    at.stamp = bed_.visible_stamp();
    at.now_us = 1'000'000;
    size_t opened = 0;
    size_t unfit = 0;
    cells = to_text(by_newest_read(bed_, spec, at, nullptr, opened, unfit));
    return bed_.runs().size() - opened;
  }
  std::string cells;

 private:
  TabletBed& bed_;
};

// A version of both columns of row `r` in each.
void write_eight_runs(TabletBed& bed) {
  for (int version = 0; version < 8; ++version) {
    bed.mutate("r", {set_newest("q", version, fmt::format("v{}", version)),
                     set_newest("p", version, "same")});
    bed.flush();
  }
}

TEST(NewestRead, StopsAtTheFirstSourceThatHasTheNewest) {
  Random random(1);
  TabletBed bed(random);
  write_eight_runs(bed);
  Sources sources(bed);
  EXPECT_EQ(sources.left_closed({{{"f", "q"}}, 1}), 7u) << "the memtable and one of eight runs";
  EXPECT_EQ(sources.left_closed({{{"f", "q"}}, 2}), 6u);
  EXPECT_EQ(sources.left_closed({{{"f", "q"}}, 3}), 4u) << "the number of open sources doubles";
  EXPECT_EQ(sources.left_closed({{{"f", "p"}, {"f", "q"}}, 1}), 7u);
  EXPECT_EQ(sources.left_closed({{{"f", "q"}}, 0}), 0u) << "all versions";
  EXPECT_EQ(sources.left_closed({{{"f", "absent"}}, 1}), 7u) << "no run has the column";
}

TEST(NewestRead, AReadOfEveryColumnStopsToo) {
  Random random(1);
  TabletBed bed(random);
  write_eight_runs(bed);
  Sources sources(bed);
  EXPECT_EQ(sources.left_closed({{}, 1}), 7u) << "one of eight runs";
  EXPECT_EQ(sources.left_closed({{}, 2}), 6u);
  EXPECT_EQ(sources.left_closed({{}, 0}), 0u) << "all versions";
  // A column that only other rows have is looked for only where it may be.
  bed.mutate("other", {set_newest("z", 9, "z")});
  bed.flush();
  EXPECT_EQ(sources.left_closed({{}, 1}), 7u) << "the newest run has not the row";
  bed.mutate("r", {set_newest("q", 10, "v10")});
  bed.flush();
  EXPECT_EQ(sources.left_closed({{}, 1}), 7u) << "`p` lies in the third run";
}

TEST(NewestRead, WhereReadsDoNotStopMostOfThemMerge) {
  StopRecord stops;
  EXPECT_TRUE(stops.is_worth_trying());
  stops.note(false);
  int tries = 0;
  for (int i = 0; i < 320; ++i) {
    if (!stops.is_worth_trying()) continue;
    ++tries;
    stops.note(false);
  }
  EXPECT_EQ(tries, 10);
  for (int i = 0; i < StopRecord::kMost; ++i) stops.note(true);
  EXPECT_TRUE(stops.is_worth_trying()) << "they stop again";
}

TEST(NewestRead, ADeleteInARunWithoutTheColumnIsMet) {
  Random random(1);
  TabletBed bed(random);
  bed.mutate("r", {set_newest("p", 1, "dead"), set_newest("q", 1, "dead")});
  bed.flush();
  OwnedMutation op = set_newest("", 0, "");
  op.kind = Mutation::Kind::delete_from_row;
  bed.mutate("r", {op});
  bed.flush();
  bed.mutate("r", {set_newest("q", 2, "alive")});
  bed.flush();
  Sources sources(bed);
  sources.left_closed({{}, 1});
  EXPECT_EQ(sources.cells.find("dead"), std::string::npos) << sources.cells;
  EXPECT_NE(sources.cells.find("alive"), std::string::npos) << sources.cells;
}

TEST(NewestRead, ATimestampInTheFutureOfAnOlderRunIsLookedFor) {
  Random random(1);
  TabletBed bed(random);
  bed.mutate("r", {set_newest("q", 100, "old run, new time")});
  bed.flush();
  bed.mutate("r", {set_newest("q", 50, "new run, old time")});
  bed.flush();
  Sources sources(bed);
  EXPECT_EQ(sources.left_closed({{{"f", "q"}}, 1}), 0u);
  EXPECT_NE(sources.cells.find("old run, new time"), std::string::npos) << sources.cells;
}

TEST(NewestRead, ADeleteClosesWhatIsOlder) {
  for (const auto kind : {Mutation::Kind::delete_from_row, Mutation::Kind::delete_from_family,
                          Mutation::Kind::delete_from_column}) {
    Random random(1);
    TabletBed bed(random);
    for (int version = 0; version < 4; ++version) {
      bed.mutate("r",
                 {set_newest("q", 100 + version, "dead"), set_newest("p", 200 + version, "p")});
      bed.flush();
    }
    OwnedMutation op = set_newest("q", 0, "");
    op.kind = kind;
    op.start_us = 0;
    op.end_us = kMaxTimestampUs;
    bed.mutate("r", {op});
    bed.flush();
    Sources sources(bed);
    EXPECT_EQ(sources.left_closed({{{"f", "q"}}, 1}), 4u) << static_cast<int>(kind);
    EXPECT_EQ(sources.cells, "") << static_cast<int>(kind);
    const bool both = kind != Mutation::Kind::delete_from_column;
    EXPECT_EQ(sources.left_closed({{{"f", "p"}, {"f", "q"}}, 1}), both ? 4u : 3u);
  }
}

TEST(NewestRead, AFamilyThatKeepsOneVersionNeedsNoMore) {
  Random random(1);
  TabletBed bed(random);
  bed.schema().families[0].rule = RetentionRule::max_versions(1);
  for (int version = 0; version < 4; ++version) {
    bed.mutate("r", {set_newest("q", version, "v")});
    bed.flush();
  }
  Sources sources(bed);
  EXPECT_EQ(sources.left_closed({{{"f", "q"}}, 0}), 3u);
}

TEST(NewestRead, OnlyFiltersThatPassTheVeryCellsAreTaken) {
  const NewestOf two{{{"f", "p"}, {"f", "q"}}, 3};
  const auto found = newest_of(filter_of(two));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->columns, two.columns);
  EXPECT_EQ(found->versions, 3u);
  FilterSpec more = filter_of(two);
  for (const FilterKind kind : {FilterKind::strip_value, FilterKind::cells_per_row,
                                FilterKind::value_regex, FilterKind::label, FilterKind::sink}) {
    FilterSpec changed = more;
    FilterNode node;
    node.kind = kind;
    node.start = 1;
    node.text = "x";
    ++changed.nodes.front().child_count;
    changed.nodes.push_back(node);
    EXPECT_FALSE(newest_of(changed)) << filter_kind_name(kind);
  }
  FilterSpec twice = filter_of({{{"f", "p"}, {"f", "p"}}, 3});
  EXPECT_FALSE(newest_of(twice)) << "each cell passes twice";
  FilterSpec open = filter_of({{{"f", "p"}}, 3});
  open.nodes[1].end_closed = false;
  EXPECT_FALSE(newest_of(open)) << "a range without cells";
  open.nodes[1].has_end = false;
  EXPECT_FALSE(newest_of(open)) << "many columns";
}

}  // namespace
}  // namespace cellar::engine
