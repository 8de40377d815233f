// Altering a table: what it refuses, what reads and writes see, and that a family that was dropped
// comes back empty, whatever happened in between.
#include <gtest/gtest.h>

#include <set>

#include "engine/read/scan.h"
#include "io/disk/faulty_fs.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

using engine::TableChange;
using Values = std::vector<std::string>;

TableChange of_table() {
  TableChange change;
  change.name = "t";
  return change;
}
TableChange adding(std::vector<std::string> families) {
  TableChange change = of_table();
  for (std::string& family : families) change.add.push_back({std::move(family)});
  return change;
}
TableChange dropping(std::vector<std::string> families) {
  TableChange change = of_table();
  change.drop = std::move(families);
  return change;
}

// "row family=value" of every cell.
Values values(TestNode& node) {
  Values out;
  for (const OwnedCell& cell : node.cells("t")) {
    out.push_back(cell.row + " " + cell.family + "=" + cell.value);
  }
  return out;
}

Values families(TestNode& node) {
  Values out;
  for (const FamilySchema& family : node.table("t")->schema.families) out.push_back(family.name);
  return out;
}

std::vector<OwnedMutation> one(std::string column, std::string value) {
  std::vector<OwnedMutation> ops;
  ops.push_back(set_cell(std::move(column), 5, std::move(value)));
  return ops;
}

TestNodeOptions shards(uint32_t count) {
  TestNodeOptions options;
  options.shards = count;
  return options;
}

TEST(Alter, AnAddedFamilyTakesWritesAndADroppedOneRefusesThemAndIsNotRead) {
  TestNode node(shards(2));
  ASSERT_TRUE(node.create_table("t", {"f", "g"}, {"m"}));
  ASSERT_TRUE(node.set("t", "a", "f:q", 5, "1"));
  ASSERT_TRUE(node.set("t", "z", "g:q", 5, "2"));
  auto altered = node.alter_table(adding({"b"}));
  ASSERT_TRUE(altered) << altered.error().to_string();
  EXPECT_EQ(altered->schema.version, 2u);
  ASSERT_TRUE(node.set("t", "a", "b:q", 5, "3"));
  ASSERT_TRUE(node.set("t", "z", "b:q", 5, "4"));
  EXPECT_EQ(values(node), (Values{"a b=3", "a f=1", "z b=4", "z g=2"}));
  ASSERT_TRUE(node.alter_table(dropping({"f", "g"})));
  EXPECT_EQ(node.set("t", "a", "f:q", 5, "5").error().code, Errc::not_found);
  EXPECT_EQ(node.set("t", "z", "g:q", 5, "5").error().code, Errc::not_found);
  EXPECT_EQ(values(node), (Values{"a b=3", "z b=4"}));
  for (uint32_t shard = 0; shard < 2; ++shard) {
    const auto* entry = node.node().tables(ShardId{shard}).find(Bytes("t"));
    EXPECT_EQ(entry->schema.version, 3u);
    EXPECT_EQ(entry->schema.families.size(), 1u);
  }
  node.crash(CrashPolicy::none);
  ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
  EXPECT_EQ(values(node), (Values{"a b=3", "z b=4"}));
  EXPECT_EQ(node.table("t")->schema.version, 3u);
}

TEST(Alter, WhatIsRefusedNamesItsReasonAndChangesNothing) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f", "g"}));
  const auto code = [&](TableChange change) {
    const auto altered = node.alter_table(std::move(change));
    return altered ? Errc::ok : altered.error().code;
  };
  TableChange change = adding({"x"});
  change.name = "none";
  EXPECT_EQ(code(change), Errc::not_found);
  EXPECT_EQ(code(adding({"x", "f"})), Errc::already_exists);
  EXPECT_EQ(code(adding({"x", "x"})), Errc::invalid_argument);
  EXPECT_EQ(code(adding({"a b"})), Errc::invalid_argument);
  EXPECT_EQ(code(dropping({"f", "none"})), Errc::not_found);
  EXPECT_EQ(code(dropping({"f", "f"})), Errc::invalid_argument);
  change = adding({"x"});
  change.drop = {"none"};
  EXPECT_EQ(code(change), Errc::not_found);
  change.drop = {"x"};
  EXPECT_EQ(code(change), Errc::invalid_argument) << "added and dropped at once";
  change = adding({"x"});
  change.alter.emplace_back().name = "none";
  EXPECT_EQ(code(change), Errc::not_found);
  change = adding({"x"});
  change.options.block_bytes = 1;
  EXPECT_EQ(code(change), Errc::invalid_argument);
  change.name = "none";
  EXPECT_EQ(code(change), Errc::invalid_argument) << "form comes before existence";
  Values many(kMaxFamilies);
  for (size_t i = 0; i < many.size(); ++i) many[i] = "x" + std::to_string(i);
  EXPECT_EQ(code(adding(many)), Errc::invalid_argument);
  EXPECT_EQ(families(node), (Values{"f", "g"}));
  EXPECT_EQ(node.table("t")->schema.version, 1u);
}

TEST(Alter, WhatOnlyItsFamilyForbidsIsRefusedAfterExistence) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}));
  const auto code = [&](const TableChange& change) {
    const auto altered = node.alter_table(change);
    return altered ? Errc::ok : altered.error().code;
  };
  TableChange change = of_table();
  engine::FamilySpec& family = change.alter.emplace_back();
  family.name = "f";
  family.timestamps = TimestampMeaning::expiry;
  EXPECT_EQ(code(change), Errc::invalid_argument) << "no max_age";
  family.rule = RetentionRule::max_age_us(1000);
  family.born_dead = BornDead::accept;
  change.name = "none";
  EXPECT_EQ(code(change), Errc::invalid_argument) << "whatever the family is";
  family.born_dead = {};
  EXPECT_EQ(code(change), Errc::not_found);
  change.name = "t";
  EXPECT_EQ(code(change), Errc::ok);
  family = {};
  family.name = "f";
  family.rule = RetentionRule{};
  EXPECT_EQ(code(change), Errc::invalid_argument) << "expiry needs its max_age";
  family.rule = RetentionRule::max_age_us(2000);
  EXPECT_EQ(code(change), Errc::ok);
  node.crash(CrashPolicy::none);
  ASSERT_TRUE(node.reopen());
  const FamilySchema& now = node.table("t")->schema.families[0];
  EXPECT_EQ(now.rule, RetentionRule::max_age_us(2000));
  EXPECT_EQ(now.timestamps, TimestampMeaning::expiry);
}

TEST(Alter, AChangeOfNothingSucceedsAndMakesNoVersion) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}));
  TableChange change = of_table();
  change.alter.emplace_back().name = "f";
  change.options.durability = Durability::sync;
  const auto altered = node.alter_table(change);
  ASSERT_TRUE(altered) << altered.error().to_string();
  EXPECT_EQ(altered->schema.version, 1u);
}

TEST(Alter, OptionsAreInForceAtOnceAndAfterARestart) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}));
  TableChange change = of_table();
  change.options.durability = Durability::memory;
  change.options.compression = Compression::none;
  change.options.block_bytes = 8192;
  change.options.bottom_compression = BottomCompression::zstd;
  ASSERT_TRUE(node.alter_table(change));
  const auto pending = node.begin_write("t", "a", one("f:q", "1"));
  EXPECT_EQ(pending->write.append.level, Durability::memory);
  node.wait(*pending);
  node.crash(CrashPolicy::none);
  ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
  const TableOptions options = node.table("t")->schema.options;
  EXPECT_EQ(options, (TableOptions{.durability = Durability::memory,
                                   .compression = Compression::none,
                                   .block_bytes = 8192,
                                   .bottom_compression = BottomCompression::zstd}));
}

TEST(Alter, AnOptionThatTheDirectorysFormatDoesNotKnowIsRefused) {
  TestNodeOptions older;
  older.engine.format = 1;
  TestNode node(older);
  engine::TableSpec spec;
  spec.name = "t";
  spec.families.emplace_back().name = "f";
  spec.options.bottom_compression = BottomCompression::zstd;
  EXPECT_EQ(node.create_table(spec).error().code, Errc::failed_precondition);
  spec.options = {};
  ASSERT_TRUE(node.create_table(spec));
  TableChange change = of_table();
  change.options.bottom_compression = BottomCompression::same;
  EXPECT_EQ(node.alter_table(change).error().code, Errc::failed_precondition);
  change.options.bottom_compression = BottomCompression::automatic;
  ASSERT_TRUE(node.alter_table(change));
}

// ---- a family that is added again

struct State {
  const char* name;
  void (*reach)(TestNode& node);  // between the drop and the addition, and after it
};

void in_memory(TestNode&) {}
void flushed(TestNode& node) { ASSERT_TRUE(node.flush("t")); }
void compacted(TestNode& node) { ASSERT_TRUE(node.compact("t")); }
void crashed(TestNode& node) {
  node.crash(CrashPolicy::none);
  ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
}
void killed_on_other_shards(TestNode& node) {
  node.kill();
  ASSERT_TRUE(node.reopen(3)) << node.open_error()->to_string();
}
void closed(TestNode& node) {
  ASSERT_TRUE(node.close());
  ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
}

const std::vector<State> kStates = {{"in memory", in_memory},
                                    {"flushed", flushed},
                                    {"compacted", compacted},
                                    {"crashed", crashed},
                                    {"killed, other shards", killed_on_other_shards},
                                    {"closed", closed}};

TEST(Alter, AFamilyAddedAgainIsEmptyInEveryState) {
  for (const State& before : kStates) {
    for (const State& between : kStates) {
      for (const State& after : kStates) {
        SCOPED_TRACE(fmt::format("{} / {} / {}", before.name, between.name, after.name));
        TestNode node(shards(2));
        ASSERT_TRUE(node.create_table("t", {"f", "g"}, {"m"}));
        ASSERT_TRUE(node.set("t", "a", "f:q", 5, "kept"));
        ASSERT_TRUE(node.set("t", "a", "g:q", 5, "old"));
        ASSERT_TRUE(node.set("t", "z", "g:q", 9, "old"));
        before.reach(node);
        ASSERT_TRUE(node.alter_table(dropping({"g"})));
        between.reach(node);
        EXPECT_EQ(values(node), Values{"a f=kept"});
        ASSERT_TRUE(node.alter_table(adding({"g"})));
        EXPECT_EQ(values(node), Values{"a f=kept"});
        ASSERT_TRUE(node.set("t", "z", "g:q", 5, "new"));
        after.reach(node);
        EXPECT_EQ(values(node), (Values{"a f=kept", "z g=new"}));
      }
    }
  }
}

TEST(Alter, WritesOnTheirWayToADroppedFamilyDoNotReappearInTheNextOne) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    TestNodeOptions options = shards(2);
    options.seed = seed;
    options.min_latency_us = 20;
    options.max_latency_us = 2'000;
    TestNode node(options);
    ASSERT_TRUE(node.create_table("t", {"f", "g"}, {"m"}));
    std::vector<std::unique_ptr<PendingWrite>> writes;
    for (int i = 0; i < 30; ++i) {
      writes.push_back(node.begin_write("t", i % 2 ? "a" : "z", one("g:q", "old")));
    }
    ASSERT_TRUE(node.alter_table(dropping({"g"})));
    ASSERT_TRUE(node.alter_table(adding({"g"})));
    EXPECT_EQ(values(node), Values{});
    ASSERT_TRUE(node.set("t", "z", "g:r", 5, "new"));
    for (const auto& write : writes) node.wait(*write);
    EXPECT_EQ(values(node), Values{"z g=new"});
    node.crash(CrashPolicy::random_subset);
    ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
    EXPECT_EQ(values(node), Values{"z g=new"});
  }
}

TEST(Alter, StampsOfANewFamilyLieAboveItsCreationThoughTheClockStandsStillAndTheNodeRestarts) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}, {"m"}));
  // One tablet's stamps run ahead of the clock; the addition takes the other one along.
  CommitStamp ahead;
  for (int i = 0; i < 3000; ++i) {
    const auto write = node.begin_write("t", "a", one("f:q", "v"));
    node.wait(*write);
    ahead = write->write.stamp;
  }
  ASSERT_GT(ahead.value(), static_cast<uint64_t>(node.world().clock().wall_us()) * 1000 + 2000);
  const auto altered = node.alter_table(adding({"g"}));
  ASSERT_TRUE(altered);
  const CommitStamp created = altered->schema.find_family("g")->created;
  EXPECT_GE(created, ahead);
  const auto at_once = node.set("t", "z", "g:q", 5, "1");
  ASSERT_TRUE(at_once);
  EXPECT_GT(*at_once, created);
  node.crash(CrashPolicy::none);
  ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
  const auto later = node.set("t", "y", "g:q", 5, "2");
  ASSERT_TRUE(later);
  EXPECT_GT(*later, created);
  EXPECT_EQ(values(node), (Values{"a f=v", "y g=2", "z g=1"}));
}

// ---- who works with the schema before

TEST(Alter, AScanThatBeganBeforeADropSeesTheTableAsItWas) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f", "g"}));
  ASSERT_TRUE(node.set("t", "a", "f:q", 5, "1"));
  ASSERT_TRUE(node.flush("t"));
  ASSERT_TRUE(node.set("t", "a", "g:q", 5, "2"));
  ReadSpec spec;
  spec.rows = RowSet::everything();
  const auto tablet = node.table("t")->tablets.front();
  auto cursor = node.node().engine(ShardId{0}).open_scan(tablet.id, tablet.epoch, spec);
  ASSERT_TRUE(cursor);
  ASSERT_TRUE(node.alter_table(dropping({"g"})));
  ASSERT_TRUE(node.alter_table(adding({"h"})));
  ASSERT_TRUE(node.compact("t"));
  struct Count final : CellSink {
    Flow cell(const CellView&) override { return ++cells, Flow::more; }
    Flow end_row(Bytes) override { return Flow::more; }
    int cells = 0;
  } sink;
  engine::ScanStep step = engine::ScanStep::yielded;
  ASSERT_TRUE(node.world().run_until([&] {
    if (step == engine::ScanStep::yielded) step = (*cursor)->run(sink);
    if (step == engine::ScanStep::blocked) {
      node.world().block_on(node.loop(0), [](engine::ScanCursor& c) -> Async<bool> {
        co_await c.load();
        co_return true;
      }(**cursor));
      step = engine::ScanStep::yielded;
    }
    return step == engine::ScanStep::done;
  }));
  EXPECT_EQ(sink.cells, 2);
  EXPECT_EQ(values(node), Values{"a f=1"});
}

TEST(Alter, ACompactionRemovesTheBytesOfADroppedFamily) {
  for (const bool restart : {false, true}) {
    TestNode node;
    ASSERT_TRUE(node.create_table("t", {"f", "g"}));
    ASSERT_TRUE(node.set("t", "a", "f:q", 5, "kept"));
    ASSERT_TRUE(node.set("t", "b", "g:q", 5, std::string(100'000, 'x')));
    ASSERT_TRUE(node.compact("t"));
    const uint64_t before = node.stats().table_bytes;
    ASSERT_TRUE(node.alter_table(dropping({"g"})));
    if (restart) crashed(node);
    ASSERT_TRUE(node.compact("t"));
    EXPECT_LT(node.stats().table_bytes, before);
    EXPECT_EQ(values(node), Values{"a f=kept"});
    const uint64_t merges = node.stats().compactions;
    ASSERT_TRUE(node.compact("t"));
    EXPECT_EQ(node.stats().compactions, merges) << "nothing is left to remove";
  }
}

TEST(Alter, AMergeThatRunsWhileAFamilyIsDroppedAndAddedAgainLosesAndRevivesNothing) {
  for (uint64_t seed = 1; seed <= 15; ++seed) {
    SCOPED_TRACE(seed);
    TestNodeOptions options;
    options.seed = seed;
    options.min_latency_us = 50;
    options.max_latency_us = 3'000;
    TestNode node(options);
    ASSERT_TRUE(node.create_table("t", {"f", "g"}));
    for (int run = 0; run < 3; ++run) {
      for (const char* row : {"a", "b", "c"}) {
        ASSERT_TRUE(node.set("t", row, "g:q", run, std::string(30'000, 'o')));
      }
      ASSERT_TRUE(node.flush("t"));
    }
    Result<void> merged;
    bool over = false;
    spawn(node.loop(0).executor(),
          [](engine::Node& n, Result<void>& out, bool& done) -> Async<void> {
            out = co_await n.compact_table(ShardId{0}, "t");
            done = true;
          }(node.node(), merged, over));
    node.world().run_for_us(static_cast<int64_t>(seed) * 700);
    ASSERT_TRUE(node.alter_table(dropping({"g"})));
    node.world().run_for_us(static_cast<int64_t>(seed) * 300);
    ASSERT_TRUE(node.alter_table(adding({"g"})));
    ASSERT_TRUE(node.set("t", "b", "g:q", 1, "new"));
    ASSERT_TRUE(node.world().run_until([&] { return over; }));
    EXPECT_TRUE(merged);
    EXPECT_EQ(values(node), Values{"b g=new"});
    ASSERT_TRUE(node.compact("t"));
    EXPECT_EQ(values(node), Values{"b g=new"});
  }
}

// ---- the power fails amid a change

TEST(Alter, APowerCutAtAnyStepLeavesTheTableBeforeOrAfterTheChange) {
  std::set<size_t> seen;  // versions that images came back with
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    std::vector<std::unique_ptr<MemDisk>> images;
    bool taking = false;
    TestNodeOptions options = shards(2);
    options.seed = seed;
    options.min_latency_us = 20;
    options.max_latency_us = 300;
    options.on_round = [&](TestNode& n) {
      if (taking) images.push_back(n.crash_image(static_cast<CrashPolicy>(images.size() % 4)));
    };
    TestNode node(options);
    ASSERT_TRUE(node.create_table("t", {"f", "g"}, {"m"}));
    ASSERT_TRUE(node.set("t", "a", "g:q", 5, "old"));
    ASSERT_TRUE(node.set("t", "z", "f:q", 5, "kept"));
    if (seed % 2) ASSERT_TRUE(node.flush("t"));
    taking = true;
    ASSERT_TRUE(node.alter_table(dropping({"g"})));
    ASSERT_TRUE(node.alter_table(adding({"g"})));
    taking = false;
    const int64_t wall_us = node.world().clock().wall_us();
    for (size_t i = 0; i < images.size(); ++i) {
      SCOPED_TRACE(fmt::format("seed {} image {} of {}", seed, i, images.size()));
      TestNodeOptions after = shards(1 + static_cast<uint32_t>(i % 3));
      after.start_wall_us = wall_us;
      TestNode back(after, std::move(images[i]));
      ASSERT_TRUE(back.is_open()) << back.open_error()->to_string();
      const uint64_t version = back.table("t")->schema.version;
      seen.insert(version);
      EXPECT_EQ(families(back), version == 2 ? Values{"f"} : (Values{"f", "g"}));
      EXPECT_EQ(values(back), version == 1 ? (Values{"a g=old", "z f=kept"}) : Values{"z f=kept"});
      // And the change can be completed from there.
      if (version == 1) ASSERT_TRUE(back.alter_table(dropping({"g"})));
      if (version <= 2) ASSERT_TRUE(back.alter_table(adding({"g"})));
      EXPECT_EQ(values(back), Values{"z f=kept"});
      ASSERT_TRUE(back.set("t", "b", "g:q", 5, "new"));
      EXPECT_EQ(values(back), (Values{"b g=new", "z f=kept"}));
    }
  }
  EXPECT_EQ(seen, (std::set<size_t>{1, 2, 3})) << "some step was never met";
}

// Until the next start nobody knows whether the family is dropped, so no write to it may be
// acknowledged that the next start would hide.
TEST(Alter, AnEditOfUnknownOutcomeStopsTheWritesOfEveryShardUntilTheNextStart) {
  FaultRules faults;
  TestNodeOptions options = shards(2);
  options.wrap = [&faults](std::unique_ptr<FileSystem> inner, MemDisk&, SimLoop& loop) {
    return std::make_unique<FaultyFs>(loop.executor(), std::move(inner), faults, &loop.timers());
  };
  TestNode node(options);
  ASSERT_TRUE(node.create_table("t", {"f", "g"}, {"m"}));
  ASSERT_TRUE(node.set("t", "z", "g:q", 5, "1"));
  ASSERT_TRUE(faults.add("write path=manifest/* error=EIO"));
  const auto altered = node.alter_table(dropping({"g"}));
  ASSERT_FALSE(altered);
  EXPECT_EQ(altered.error().applied, Applied::maybe_applied);
  EXPECT_EQ(values(node), Values{"z g=1"}) << "reads go on";
  for (const char* row : {"a", "z"}) {
    const auto refused = node.set("t", row, "g:q", 6, "2");
    ASSERT_FALSE(refused) << row;
    EXPECT_EQ(refused.error().code, Errc::unavailable) << row;
  }
  faults.clear();
  node.crash(CrashPolicy::none);
  ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
  EXPECT_EQ(values(node), Values{"z g=1"}) << "the edit did not reach the disk";
  ASSERT_TRUE(node.alter_table(dropping({"g"})));
  EXPECT_EQ(values(node), Values{});
}

TEST(Alter, UnderLoadAcknowledgedWritesStayAndTheDroppedFamilyIsGone) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    TestNodeOptions options = shards(2);
    options.seed = seed;
    options.min_latency_us = 20;
    options.max_latency_us = 500;
    options.engine.memtable_bytes = 64u << 10;
    TestNode node(options);
    ASSERT_TRUE(node.create_table("t", {"f", "g"}, {"m"}));
    Random random(seed);
    std::vector<std::unique_ptr<PendingWrite>> writes;
    Values expected;
    bool exists = true;
    for (int i = 0; i < 300; ++i) {
      if (random.one_in(20)) {
        ASSERT_TRUE(node.alter_table(exists ? dropping({"g"}) : adding({"g"})));
        exists = !exists;
        std::erase_if(expected, [](const std::string& v) { return v.find(" g=") != v.npos; });
      }
      const std::string row = fmt::format("{}{:04}", i % 2 ? "a" : "z", i);
      const std::string family = random.one_in(2) ? "f" : "g";
      std::vector<OwnedMutation> ops = one(family + ":q", std::to_string(i));
      ops.push_back(set_cell(family + ":pad", 5, std::string(2'000, 'p')));
      writes.push_back(node.begin_write("t", row, std::move(ops)));
      if (family == "g" && !exists) {
        ASSERT_TRUE(writes.back()->finished);
        ASSERT_EQ(writes.back()->write.error->code, Errc::not_found);
        continue;
      }
      expected.push_back(fmt::format("{} {}={}", row, family, i));
      if (random.one_in(8)) node.wait(*writes.back());
    }
    for (const auto& write : writes) node.wait(*write);
    std::sort(expected.begin(), expected.end());
    const auto check = [&](const char* when) {
      Values got = values(node);
      std::erase_if(got, [](const std::string& v) { return v.ends_with("ppp"); });
      EXPECT_EQ(got, expected) << when;
    };
    check("at the end");
    node.crash(CrashPolicy::none);
    ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
    check("after a crash");
    ASSERT_TRUE(node.compact("t"));
    check("compacted");
  }
}

// ---- sizes

TEST(Alter, TheSizeOfATabletCountsItsMemoryAndItsTables) {
  TestNode node(shards(2));
  const auto entry = node.create_table("t", {"f"}, {"m"});
  ASSERT_TRUE(entry);
  const auto sizes = [&](TableId table) {
    return node.world().block_on(node.loop(1), node.node().tablet_sizes(ShardId{1}, table));
  };
  ASSERT_TRUE(node.set("t", "z", "f:q", 5, std::string(50'000, 'x')));
  auto found = sizes(entry->schema.id);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ(found->at(0).end, "m");
  EXPECT_EQ(found->at(0).bytes, 0u);
  EXPECT_EQ(found->at(1).end, "");
  EXPECT_GE(found->at(1).bytes, 50'000u);
  EXPECT_LT(found->at(1).bytes, 60'000u) << "what was written, not what is reserved";
  ASSERT_TRUE(node.flush("t"));
  found = sizes(entry->schema.id);
  EXPECT_GT(found->at(1).bytes, 100u) << "the table is compressed, but there";
  EXPECT_EQ(sizes(TableId{99}).error().code, Errc::not_found);
}

}  // namespace
}  // namespace cellar::support
