// Reads that name their columns: which tables they skip; the answers do not change.
#include <gtest/gtest.h>

#include "tests/support/filter_model.h"
#include "tests/support/seeds.h"
#include "tests/support/table_bed.h"

namespace cellar::engine {
namespace {

using support::filter_condition;
using support::filter_leaf;
using support::filter_of;
using support::filter_tree;
using support::OwnedMutation;
using support::TableBed;
using support::to_text;
using K = FilterKind;

FilterSpec leaf(K kind, std::string text = {}, int64_t count = 0) {
  return filter_of(filter_leaf(kind, std::move(text), count));
}
FilterSpec chain(const std::vector<FilterSpec>& parts) { return filter_tree(K::chain, parts); }
FilterSpec words(const std::string& families, const std::string& qualifiers) {
  return chain({leaf(K::family_regex, families), leaf(K::qualifier_regex, qualifiers)});
}
FilterSpec column(const std::string& family, const std::string& qualifier) {
  FilterNode n = filter_leaf(K::column_range, qualifier);
  n.has_start = n.has_end = n.end_closed = true;
  n.end_text = qualifier;
  n.family = family;
  return filter_of(n);
}
FilterSpec interleave(const std::vector<FilterSpec>& parts) {
  return filter_tree(K::interleave, parts);
}

std::string text_of(const std::optional<NamedColumns>& columns) {
  if (!columns) return "-";
  std::string out;
  for (const ColumnName& c : *columns) out += c.family + ":" + c.qualifier + " ";
  return out;
}
std::string named(const FilterSpec& spec) { return text_of(named_columns(spec)); }

TEST(NamedColumns, AreThoseThatAFilterLetsPassAlone) {
  EXPECT_EQ(named(column("f", "q")), "f:q ");
  EXPECT_EQ(named(words("f", "q")), "f:q ");
  EXPECT_EQ(named(words("f|g", "a|b-1")), "f:a f:b-1 g:a g:b-1 ");
  EXPECT_EQ(named(chain({leaf(K::cells_per_column, {}, 1), column("f", "q")})), "f:q ");
  EXPECT_EQ(named(chain({chain({leaf(K::pass), column("f", "q")}), leaf(K::sink)})), "f:q ");
  EXPECT_EQ(named(interleave({column("g", "b"), words("f", "a|c"), leaf(K::block)})),
            "f:a f:c g:b ");
  const FilterSpec then = column("f", "b");
  EXPECT_EQ(named(filter_condition(column("f", "a"), &then, nullptr)), "f:a f:b ");
  EXPECT_EQ(named(chain({column("f", "q"), leaf(K::cells_per_row, {}, 1)})), "f:q ");
  // A counting filter in one branch does not affect the next branch.
  const FilterSpec first = chain({column("f", "q"), leaf(K::cells_per_row, {}, 1)});
  EXPECT_EQ(named(interleave({first, words("f", "r")})), "f:q f:r ");
}

TEST(NamedColumns, AreNoneWhereOthersMatter) {
  EXPECT_EQ(named(FilterSpec()), "-");
  EXPECT_EQ(named(leaf(K::family_regex, "f")), "-");
  EXPECT_EQ(named(words("f.", "q")), "-");
  EXPECT_EQ(named(words("f", "q*")), "-");
  EXPECT_EQ(named(words("f", "")), "-");
  EXPECT_EQ(named(words("f", "a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p|q")), "-");
  EXPECT_EQ(named(chain({leaf(K::cells_per_row, {}, 1), column("f", "q")})), "-");
  EXPECT_EQ(named(chain({leaf(K::sink), column("f", "q")})), "-");
  EXPECT_EQ(named(interleave({column("f", "q"), leaf(K::pass)})), "-");
  EXPECT_EQ(named(interleave({column("f", "q"), chain({leaf(K::sink), column("f", "r")})})), "-");
  const FilterSpec mixed = chain({leaf(K::cells_per_row, {}, 1), leaf(K::pass)});
  EXPECT_EQ(named(chain({interleave({mixed, leaf(K::pass)}), column("f", "q")})), "-");
  EXPECT_EQ(named(chain({chain({leaf(K::cells_per_row, {}, 1)}), column("f", "q")})), "-");
  const FilterSpec pass = leaf(K::pass);
  EXPECT_EQ(named(filter_condition(column("f", "a"), &pass, nullptr)), "-");
  FilterSpec open = column("f", "q");
  open.nodes.front().has_end = false;
  EXPECT_EQ(named(open), "-");
  open = column("f", "q");
  open.nodes.front().start_open = true;
  EXPECT_EQ(named(open), "-");
  const FilterSpec fifteen = words("f", "a|b|c|d|e|f|g|h|i|j|k|l|m|n|o");
  EXPECT_NE(named(interleave({fifteen, column("f", "p")})), "-");
  EXPECT_EQ(named(interleave({fifteen, words("f", "p|q")})), "-") << "one more than is worth it";
}

class ColumnFilter : public testing::Test {
 protected:
  static constexpr int kColumns = 200;
  static std::string qualifier(int i) { return fmt::format("q{:03}", i); }

  OwnedMutation cell(int i) {
    OwnedMutation op;
    op.family = "f";
    op.qualifier = qualifier(i);
    op.value = std::string(40, 'v');
    op.timestamp_us = 5;
    return op;
  }
  // One run: in every row the columns whose number modulo 4 is `rest`.
  void fill(int rest) {
    for (int r = 0; r < 8; ++r) {
      std::vector<OwnedMutation> ops;
      for (int i = rest; i < kColumns; i += 4) ops.push_back(cell(i));
      bed_.bed.mutate(row(r), ops);
    }
    bed_.flush();
  }
  static std::string row(int r) { return fmt::format("row{}", r); }
  // The device reads of a read of this column with an empty cache.
  uint64_t reads_of(const std::string& row, const FilterSpec& filter, size_t cells) {
    bed_.cache.set_budget(0);
    bed_.cache.set_budget(8u << 20);
    ReadSpec spec;
    spec.rows.add(KeyRange::single(row));
    spec.rows.normalize();
    const uint64_t before = bed_.loader.stats().reads;
    auto plan = plan_filter(filter);
    EXPECT_TRUE(plan.has_value());
    plan->narrow(spec);
    EXPECT_EQ(bed_.read(spec).size(), cells);
    return bed_.loader.stats().reads - before;
  }

  Random random_{1};
  TableBed bed_{random_};
};

// Rows of one block in each of eight runs.
TEST_F(ColumnFilter, TheNewestVersionIsReadFromTheNewestRunAlone) {
  constexpr int kRuns = 8;
  for (int version = 1; version <= kRuns; ++version) {
    for (int r = 0; r < 8; ++r) {
      OwnedMutation op = cell(1);
      op.timestamp_us = version;
      bed_.bed.mutate(row(r), {op});
    }
    bed_.flush();
  }
  const FilterSpec named = column("f", qualifier(1));
  const auto newest = [&](int64_t count) {
    return chain({leaf(K::cells_per_column, {}, count), named});
  };
  EXPECT_EQ(reads_of("row3", newest(1), 1), 1u);
  EXPECT_EQ(reads_of("row3", newest(2), 2), 2u);
  EXPECT_EQ(reads_of("row3", newest(3), 3), 4u) << "the number of open runs doubles";
  EXPECT_EQ(reads_of("row3", named, kRuns), static_cast<uint64_t>(kRuns));
  EXPECT_EQ(reads_of("row3", leaf(K::cells_per_column, {}, 1), 1), 1u) << "the only column";
  EXPECT_EQ(reads_of("absent", newest(1), 0), 0u);
}

TEST_F(ColumnFilter, ARunThatHasNoneOfTheColumnsIsNotTouched) {
  for (int rest = 0; rest < 3; ++rest) fill(rest);
  const TableMeta& meta = bed_.runs.front().front()->meta();
  ASSERT_NE(meta.column_filter.size, 0u);
  EXPECT_LE(meta.column_filter.size, meta.cells * 10 / 8 + 64 + 16) << "ten bits a column";
  // The block with the beginning of the row, and the block with the column.
  EXPECT_EQ(reads_of("row3", column("f", qualifier(101)), 1), 2u);
  EXPECT_EQ(reads_of("row3", words("f", qualifier(101)), 1), 2u);
  // In no run; the same for a column of another family.
  EXPECT_EQ(reads_of("row3", column("f", qualifier(103)), 0), 0u);
  EXPECT_EQ(reads_of("row3", column("g", qualifier(101)), 0), 0u);
  EXPECT_GE(reads_of("row3", leaf(K::qualifier_regex, "q101"), 1), 3u) << "family not named";
}

TEST_F(ColumnFilter, OfSeveralRowsEachAsksForItsOwn) {
  fill(0);
  fill(1);
  std::vector<OwnedMutation> ops;
  for (int i = 3; i < kColumns; i += 4) ops.push_back(cell(i));
  bed_.bed.mutate(row(2), ops);
  bed_.flush();
  ReadSpec spec;
  for (int r = 0; r < 8; ++r) spec.rows.add(KeyRange::single(row(r)));
  spec.rows.normalize();
  auto plan = plan_filter(column("f", qualifier(3)));
  ASSERT_TRUE(plan.has_value());
  plan->narrow(spec);
  EXPECT_EQ(bed_.read(spec).size(), 1u);
  for (const auto& run : bed_.runs) {
    const TableReader& table = *run.front();
    size_t cached = 0;
    for (size_t i = 0; i < table.index().blocks(); ++i) cached += table.has_cached_block(i);
    EXPECT_EQ(cached != 0, run == bed_.runs.back());
  }
}

TEST_F(ColumnFilter, ARunWithADeleteThatReachesTheColumnIsRead) {
  fill(0);
  for (const auto kind : {Mutation::Kind::delete_from_row, Mutation::Kind::delete_from_family,
                          Mutation::Kind::delete_from_column}) {
    std::vector<OwnedMutation> ops;
    for (int i = 1; i < kColumns; i += 4) ops.push_back(cell(i));
    bed_.bed.mutate("row1", ops);
    OwnedMutation gone = cell(static_cast<int>(kind) * 4);
    gone.kind = kind;
    gone.start_us = 0;
    gone.end_us = kMaxTimestampUs;
    const int r = 2 + static_cast<int>(kind);
    bed_.bed.mutate(row(r), {gone});
    bed_.flush();
    ASSERT_NE(bed_.runs.back().front()->meta().column_filter.size, 0u);
    // The delete's run alone: what it covers stays closed.
    EXPECT_EQ(reads_of(row(r), column("f", gone.qualifier), 0), 1u) << static_cast<int>(kind);
  }
}

TEST_F(ColumnFilter, IsNotWrittenForRowsOfOneColumn) {
  for (int r = 0; r < 100; ++r) bed_.bed.mutate(fmt::format("r{:03}", r), {cell(1)});
  bed_.flush();
  EXPECT_EQ(bed_.runs.front().front()->meta().column_filter.size, 0u);
}

TEST_F(ColumnFilter, DamagedItIsFoundAtTheOpeningAndNamed) {
  fill(0);
  TableReader& table = *bed_.runs.front().front();
  const BlockHandle handle = table.meta().column_filter;
  bed_.store.bytes(table.id())[handle.offset + 9] ^= 4;
  const auto opened = bed_.try_open(table.id());
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, Errc::data_loss);
  EXPECT_NE(opened.error().message.find(block_name(table.id(), handle.offset)), std::string::npos)
      << opened.error().message;
}

FilterSpec random_naming(Random& random) {
  const auto name = [&random] { return fmt::format("q{:02}", random.below(40)); };
  const auto family = [&random] { return std::string(random.one_in(2) ? "f" : "g"); };
  switch (random.below(5)) {
    case 0:
      return column(family(), name());
    case 1:
      return words("f|g", name());
    case 2:
      return interleave({column(family(), name()), column(family(), name())});
    case 3: {
      const FilterSpec then = column(family(), name());
      const FilterSpec other = column(family(), name());
      return filter_condition(column(family(), name()), &then, &other);
    }
    default:
      return chain({leaf(K::cells_per_column, {}, 1), words(family(), name() + "|" + name()),
                    leaf(K::cells_per_row, {}, 2)});
  }
}

// A filter in some part of the table, if it has parts.
bool has_column_filter(TableBed& bed, TableReader& table) {
  if (table.top_index() == nullptr) return table.meta().column_filter.size != 0;
  for (size_t i = 0; i < table.top_index()->parts(); ++i) {
    const BlockHandle at = table.top_index()->handle(i);
    const auto stored =
        bed.world.block_on(bed.loop, read_blob(table.blob(), at.offset, at.size, IoClass::read));
    const auto contents = read_block(*stored, table.id(), at.offset);
    IndexPartition part;
    CHECK(contents && part.open(*contents, table.marks().raw_bytes(i), 0));
    if (!part.column_filter().empty()) return true;
  }
  return false;
}

// Histories of wide rows with every kind of delete, in memtables and several runs, flushed and
// merged: reads that skip tables answer what a model without filters answers.
TEST(ColumnFilterRandom, LeavesOutNothingThatMatters) {
  uint64_t with_filter = 0;
  for (const uint64_t seed : test_seeds(25)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    TableBed bed(random);
    bed.use_parts(random);
    for (int step = 0; step < 60; ++step) {
      std::vector<OwnedMutation> ops;
      for (uint64_t i = 0, n = 1 + random.below(30); i < n; ++i) {
        OwnedMutation op = bed.bed.random_op();
        if (op.kind != Mutation::Kind::set_cell && !random.one_in(5)) continue;
        op.qualifier = fmt::format("q{:02}", random.below(40));
        ops.push_back(std::move(op));
      }
      if (!ops.empty()) bed.bed.mutate(bed.bed.random_row(), ops);
      if (random.one_in(20)) bed.bed.drop_rows("b", "d");
      if (random.one_in(40)) bed.bed.replace_family(random.below(2));
      if (random.one_in(3)) bed.flush(random.one_in(2) ? 1u << 30 : 2000);
      if (bed.runs.size() > 3 && random.one_in(4)) bed.compact(random.below(2), 2);
      for (const auto& run : bed.runs)
        for (const auto& table : run) with_filter += has_column_filter(bed, *table);
      for (int i = 0; i < 6; ++i) {
        ReadSpec spec;
        for (uint64_t n = 1 + random.below(3); n > 0; --n)
          spec.rows.add(KeyRange::single(bed.bed.random_row()));
        if (random.one_in(6)) spec.rows.add({"b", ""});
        spec.rows.normalize();
        spec.reversed = random.one_in(3);
        const FilterSpec filter = random_naming(random);
        const auto expected = filter_rows(filter, bed.bed.expected(spec), 0);
        auto plan = plan_filter(filter);
        ASSERT_TRUE(plan.has_value());
        plan->narrow(spec);
        for (const bool prune : {true, false}) {
          ASSERT_EQ(to_text(bed.read(spec, prune)), to_text(expected))
              << to_text(filter) << (prune ? "" : ", nothing left out");
        }
      }
    }
  }
  EXPECT_GT(with_filter, 1000u);
}

}  // namespace
}  // namespace cellar::engine
