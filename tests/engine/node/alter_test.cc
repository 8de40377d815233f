// Altering a table: what is refused, and what reads, writes and merges see.
#include <gtest/gtest.h>

#include "engine/filter/compiled_filter.h"
#include "engine/read/scan.h"
#include "tests/engine/node/alter_bed.h"

namespace cellar::support {
namespace {

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

// ---- operations that use the previous schema

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

// Collects "row family", and pauses at the first cell of row b or at its end.
struct PausingSink final : CellSink {
  explicit PausingSink(bool in_row) : in_row_(in_row) {}
  Flow cell(const CellView& cell) override {
    seen.push_back(std::string(cell.row) + " " + std::string(cell.family));
    return in_row_ && cell.row == "b" && !std::exchange(paused_, true) ? Flow::pause : Flow::more;
  }
  Flow end_row(Bytes row) override { return !in_row_ && row == "b" ? Flow::pause : Flow::more; }
  Values seen;

 private:
  const bool in_row_;
  bool paused_ = false;
};

// A row of which start_read() has given the first cells without a cursor is ended by the cursor, as
// of the same commit, whatever happens to the table and the tablet meanwhile.
TEST(Alter, ARowThatWasBegunIsEnded) {
  for (const bool reversed : {false, true}) {
    for (const std::string change : {"alter", "split", "drop"}) {
      SCOPED_TRACE(fmt::format("{} {}", reversed, change));
      TestNode node;
      ASSERT_TRUE(node.create_table("t", {"f", "g"}));
      Values expected;
      for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(node.set("t", "b", fmt::format("f:{}", i), 5, "v"));
        expected.push_back("b f");
      }
      ReadSpec spec;
      spec.rows.add(KeyRange::single("b"));
      spec.reversed = reversed;
      const auto tablet = node.table("t")->tablets.front();
      PausingSink sink(true);
      auto started =
          node.node().engine(ShardId{0}).start_read(tablet.id, tablet.epoch, spec, sink, nullptr);
      ASSERT_TRUE(started);
      ASSERT_EQ(started->step, engine::ScanStep::paused);
      ASSERT_EQ(sink.seen.size(), 1u);
      if (change == "alter") ASSERT_TRUE(node.alter_table(dropping({"g"})));
      if (change == "split") ASSERT_TRUE(node.split(tablet.id, "a"));
      if (change == "drop") ASSERT_TRUE(node.drop_rows("t", "a", "c"));
      engine::ScanCursor& cursor = *started->cursor;
      EXPECT_FALSE(cursor.must_reopen());
      EXPECT_FALSE(cursor.between_rows());
      for (int i = 0; i < 9 && sink.seen.size() < expected.size(); ++i) {
        ASSERT_FALSE(cursor.must_reopen());
        ASSERT_NE(cursor.run(sink), engine::ScanStep::failed) << cursor.error().to_string();
      }
      EXPECT_EQ(sink.seen, expected);
    }
  }
}

// A row that a cursor has begun is read by the schema of its beginning, the next one is not.
TEST(Alter, ACursorYieldsAtTheEndOfTheRowInWhichTheTableWasAltered) {
  FilterSpec condition;  // it needs a row's cells before it returns one
  condition.nodes.resize(3);
  condition.nodes[0].kind = FilterKind::condition;
  condition.nodes[0].has_then = true;
  condition.nodes[0].child_count = 2;
  condition.nodes[1].kind = FilterKind::value_regex;
  condition.nodes[1].text = "[a-z]";
  for (const bool reversed : {false, true}) {
    for (const bool in_row : {false, true}) {
      for (const bool filtered : {false, true}) {
        SCOPED_TRACE(fmt::format("{} {} {}", reversed, in_row, filtered));
        TestNode node;
        ASSERT_TRUE(node.create_table("t", {"f", "g"}));
        for (const char* row : {"a", "b", "c"}) {
          for (const char* column : {"f:q", "g:q"}) ASSERT_TRUE(node.set("t", row, column, 5, "v"));
        }
        ReadSpec spec;
        spec.rows = RowSet::everything();
        spec.reversed = reversed;
        auto plan = engine::plan_filter(condition);
        ASSERT_TRUE(plan);
        if (filtered) plan->narrow(spec);
        const auto tablet = node.table("t")->tablets.front();
        auto cursor = node.node().engine(ShardId{0}).open_scan(tablet.id, tablet.epoch, spec);
        ASSERT_TRUE(cursor);
        PausingSink sink(in_row);
        engine::ScanStep step = engine::ScanStep::yielded;
        while (step == engine::ScanStep::yielded) step = (*cursor)->run(sink);
        ASSERT_EQ(step, engine::ScanStep::paused);
        EXPECT_FALSE((*cursor)->must_reopen());
        ASSERT_TRUE(node.alter_table(dropping({"g"})));
        for (int i = 0; i < 9 && !(*cursor)->must_reopen(); ++i) {
          ASSERT_NE((*cursor)->run(sink), engine::ScanStep::done);
        }
        ASSERT_TRUE((*cursor)->must_reopen());
        EXPECT_EQ((*cursor)->last_row(), "b");
        const std::string first = reversed ? "c" : "a";
        EXPECT_EQ(sink.seen, (Values{first + " f", first + " g", "b f", "b g"}));
      }
    }
  }
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
    if (restart) {
      node.crash(CrashPolicy::none);
      ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
    }
    ASSERT_TRUE(node.compact("t"));
    EXPECT_LT(node.stats().table_bytes, before);
    EXPECT_EQ(values(node), Values{"a f=kept"});
    const uint64_t merges = node.stats().compactions;
    ASSERT_TRUE(node.compact("t"));
    EXPECT_EQ(node.stats().compactions, merges) << "nothing is left to remove";
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
