// Reads that name no column of tables with few: they leave older tables closed, and answer what a
// model answers.
#include "engine/read/row_columns.h"

#include <gtest/gtest.h>

#include "engine/filter/compiled_filter.h"
#include "tests/support/seeds.h"
#include "tests/support/table_bed.h"

namespace cellar::engine {
namespace {

using support::OwnedMutation;
using support::TableBed;
using support::to_text;

// Rows of a few columns with every kind of delete, in memtables and several runs of several tables,
// flushed and merged; at times there are more columns than a list holds.
TEST(RunColumns, AReadOfEveryColumnLacksNone) {
  size_t few = 0;
  size_t many = 0;
  for (const uint64_t seed : test_seeds(60)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    TableBed bed(random);
    bed.use_parts(random);
    const uint64_t columns = random.one_in(3) ? 30 : 4;
    for (int step = 0; step < 60; ++step) {
      std::vector<OwnedMutation> ops;
      for (uint64_t i = 0, n = 1 + random.below(6); i < n; ++i) {
        OwnedMutation op = bed.bed.random_op();
        if (op.kind != Mutation::Kind::set_cell && !random.one_in(4)) continue;
        op.qualifier = fmt::format("q{:02}", random.below(columns));
        ops.push_back(std::move(op));
      }
      if (!ops.empty()) bed.bed.mutate(bed.bed.random_row(), ops);
      if (random.one_in(20)) bed.bed.drop_rows("b", "d");
      if (random.one_in(40)) bed.bed.replace_family(random.below(2));
      if (random.one_in(3)) bed.flush(random.one_in(2) ? 1u << 30 : 200);
      if (bed.runs.size() > 3 && random.one_in(4)) bed.compact(random.below(2), 2, 300);
      for (const auto& run : bed.runs)
        for (const auto& table : run) ++(table->meta().columns.known() ? few : many);
      for (int i = 0; i < 6; ++i) {
        ReadSpec spec;
        spec.rows.add(KeyRange::single(bed.bed.random_row()));
        spec.rows.normalize();
        spec.versions = static_cast<uint32_t>(random.below(3));
        ASSERT_EQ(to_text(bed.read(spec)), to_text(bed.bed.expected(spec)));
      }
    }
  }
  EXPECT_GT(few, 1000u);
  EXPECT_GT(many, 100u);
}

}  // namespace
}  // namespace cellar::engine
