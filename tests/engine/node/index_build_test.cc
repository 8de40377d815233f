// Building indexes in the background (SEMANTICS 11.6): from the tables and memtables that were
// there, over restarts, and out of the files of dropped ones.
#include <gtest/gtest.h>

#include <set>

#include "engine/merge_record.h"
#include "engine/shard/shard_engine.h"
#include "tests/engine/node/index_bed.h"

namespace cellar::support {
namespace {

using engine::IndexState;
using engine::IndexStates;
using Ids = std::set<uint64_t>;

constexpr int64_t kMostUs = 600'000'000;

class IndexBuild : public ::testing::Test {
 protected:
  void create(RetentionRule rule = {}, std::vector<std::string> splits = {}) {
    engine::TableSpec spec;
    spec.name = "t";
    spec.granularity = Granularity::micros;
    spec.families.push_back({.name = "f", .rule = std::move(rule), .born_dead = BornDead::accept});
    spec.families.push_back({.name = "g"});
    spec.splits = std::move(splits);
    spec.options.compression = Compression::none;
    ASSERT_TRUE(node_->create_table(std::move(spec)));
  }
  // Rows a0, a1, ... and z0, z1, ..., each with a cell of `bytes` bytes.
  void write(int rows, size_t bytes = 10) {
    for (int i = 0; i < rows; ++i) {
      for (const char* first : {"a", "z"}) {
        ASSERT_TRUE(node_->set("t", fmt::format("{}{:06}", first, i), "f:q", 5 + version_,
                               std::string(bytes, 'v')));
      }
    }
    ++version_;
  }
  void add(IndexSpec spec) { ASSERT_TRUE(node_->alter_table(creating(std::move(spec)))); }
  IndexStates states() {
    auto states = node_->index_states("t");
    EXPECT_TRUE(states) << states.error().to_string();
    return states ? *std::move(states) : IndexStates{};
  }
  IndexState state(size_t number = 0) { return states().states.at(number); }
  // Whether all indexes of the table become ready.
  bool get_ready() {
    const auto is_ready = [this] {
      return std::ranges::all_of(states().states, &IndexState::ready);
    };
    for (int64_t waited_us = 0; waited_us < kMostUs; waited_us += kStepUs) {
      if (is_ready()) return true;
      node_->world().run_for_us(kStepUs);
    }
    return is_ready();
  }
  template <class Visit>
  void each_tablet(Visit visit) {
    for (uint32_t i = 0; i < node_->shards(); ++i) {
      const auto& shard = static_cast<engine::ShardEngine&>(node_->node().engine(ShardId{i}));
      for (const auto& [id, tablet] : shard.tablets()) visit(*tablet);
    }
  }
  // Of indexes with a section in a table on disk.
  Ids on_disk() {
    Ids ids;
    each_tablet([&ids](const engine::Tablet& tablet) {
      for (const engine::TabletRun& run : tablet.version().runs) {
        for (const auto& table : run.tables) {
          for (const auto& section : table->meta().sections) ids.insert(section.index);
        }
      }
    });
    return ids;
  }
  size_t rewritten() {
    size_t count = 0;
    for (uint32_t i = 0; i < node_->shards(); ++i) {
      for (const auto& merge : node_->node().engine(ShardId{i}).merge_history()) {
        count += merge.reason == engine::MergeReason::index;
      }
    }
    return count;
  }
  static TestNodeOptions small_tables_on_a_slow_disk() {
    TestNodeOptions options;
    options.engine.table_bytes = 16u << 10;
    options.min_latency_us = 1000;
    options.max_latency_us = 2000;
    return options;
  }
  void open(TestNodeOptions options) { node_ = std::make_unique<TestNode>(std::move(options)); }

  static constexpr int64_t kStepUs = 10'000;
  std::unique_ptr<TestNode> node_ = std::make_unique<TestNode>(shards(2));
  int64_t version_ = 0;
};

TEST_F(IndexBuild, AnIndexOfAnEmptyTableIsReadyAtOnce) {
  create({}, {"m"});
  add(index_spec("i"));
  const IndexStates all = states();
  ASSERT_EQ(all.indexes.size(), 1u);
  EXPECT_EQ(all.indexes[0].name, "i");
  ASSERT_EQ(all.states.size(), 1u);
  EXPECT_EQ(all.states[0].id, all.indexes[0].id);
  EXPECT_TRUE(all.states[0].ready);
  EXPECT_EQ(all.states[0].share_done(), 1.0);
  EXPECT_EQ(node_->index_states("none").error().code, Errc::not_found);
}

TEST_F(IndexBuild, WhatIsInMemoryIsEntered) {
  create({}, {"m"});
  write(10);
  add(index_spec("i"));
  EXPECT_FALSE(state().ready);
  EXPECT_LT(state().share_done(), 1.0);
  IndexReadSpec everything;
  everything.index = "i";
  EXPECT_EQ(status(node_->read_index("t", everything)), "FAILED_PRECONDITION");
  ASSERT_TRUE(get_ready());
  EXPECT_EQ(node_->read_index("t", everything)->size(), 20u);
  EXPECT_EQ(state().done_bytes, state().total_bytes);
  EXPECT_EQ(state().entries, 20u);
  EXPECT_GT(state().bytes, 0u);
}

TEST_F(IndexBuild, WhatIsInTablesIsEnteredAndTheTablesAreRewrittenOnce) {
  create({}, {"m"});
  for (int run = 0; run < 3; ++run) {
    write(10);
    ASSERT_TRUE(node_->flush("t"));
  }
  node_->world().run_for_us(1'000'000);
  add(index_spec("i"));
  ASSERT_TRUE(get_ready());
  const size_t merges = rewritten();
  EXPECT_GE(merges, 2u);
  EXPECT_EQ(on_disk(), Ids{1});
  node_->world().run_for_us(60'000'000);
  EXPECT_EQ(rewritten(), merges);
}

TEST_F(IndexBuild, WritesAfterTheCreationAreInItWhateverIsBuilt) {
  create();
  write(10);
  add(index_spec("i"));
  write(10);
  ASSERT_TRUE(get_ready());
  ASSERT_TRUE(node_->flush("t"));
  EXPECT_TRUE(state().ready);
  EXPECT_EQ(state().entries, 40u);
}

// However short a batch's time is and however fast writes come, a read ends with what was there.
TEST_F(IndexBuild, AReadOfUnpreparedCellsGoesOnInTheNextBatch) {
  node_ = std::make_unique<TestNode>(shards(1));
  create();
  add(index_spec("i"));
  write(500);
  const engine::TabletDescriptor tablet = node_->table("t")->tablets.front();
  IndexReadSpec spec;
  spec.index = "i";
  auto scan = node_->node().engine(tablet.shard).open_index(tablet.id, tablet.epoch, spec);
  ASSERT_TRUE(scan) << scan.error().to_string();
  engine::IndexBatch batch;
  size_t empty = 0;
  while (batch.hits.empty() && empty < 100) {
    ASSERT_TRUE(node_->world().block_on(node_->loop(0),
                                        (*scan)->next(batch, {.hits = 2000, .work_us = 0})));
    if (batch.hits.empty()) {
      ++empty;
      EXPECT_FALSE(batch.done);
      EXPECT_TRUE(batch.passed.empty());
      write(300);
    }
  }
  EXPECT_GE(empty, 2u);
  EXPECT_LE(empty, 6u);
  while (!batch.done) {
    ASSERT_TRUE(node_->world().block_on(node_->loop(0), (*scan)->next(batch, {.hits = 2000})));
  }
  EXPECT_EQ(batch.hits.size(), 1000u);
}

TEST_F(IndexBuild, SeveralIndexesAreBuiltInOnePass) {
  create();
  write(10);
  ASSERT_TRUE(node_->flush("t"));
  TableChange change = creating(index_spec("i"));
  change.add_indexes.push_back(index_spec("j", "g"));
  ASSERT_TRUE(node_->alter_table(change));
  ASSERT_TRUE(get_ready());
  EXPECT_EQ(rewritten(), 1u);
  EXPECT_EQ(state(0).entries, 20u);
  EXPECT_EQ(state(1).entries, 0u) << "of another family";
}

TEST_F(IndexBuild, AWholeRunIsRewrittenWhereARangeDeleteDecidesWhatIsDead) {
  TestNodeOptions options;
  options.engine.table_bytes = 16u << 10;
  open(options);
  create(RetentionRule::max_versions(2));
  for (int version = 0; version < 3; ++version) write(100, 300);
  ASSERT_TRUE(node_->drop_rows("t", "a000010", "z000010"));
  ASSERT_TRUE(node_->flush("t"));
  const auto before = node_->cells("t");
  EXPECT_EQ(before.size(), 2 * 100u);
  add(index_spec("i"));
  ASSERT_TRUE(get_ready());
  EXPECT_EQ(rewritten(), 1u);
  EXPECT_EQ(node_->cells("t"), before);
}

TEST_F(IndexBuild, TablesOfOneRunAreRewrittenOneByOne) {
  open(small_tables_on_a_slow_disk());
  create(RetentionRule::max_versions(2));
  for (int version = 0; version < 3; ++version) {
    write(100, 300);
    ASSERT_TRUE(node_->flush("t"));
  }
  const auto before = node_->cells("t");
  EXPECT_EQ(before.size(), 2 * 200u);
  add(index_spec("i"));
  bool partly = false;
  for (int step = 0; step < 100'000 && !state().ready; ++step) {
    node_->world().run_for_us(1000);
    partly |= state().done_bytes > 0 && !state().ready;
  }
  EXPECT_TRUE(state().ready);
  EXPECT_TRUE(partly);
  EXPECT_GT(rewritten(), 3u);
  EXPECT_GE(state().entries, 400u);
  EXPECT_EQ(node_->cells("t"), before);
}

TEST_F(IndexBuild, AStartGoesOnWhereItStood) {
  open(small_tables_on_a_slow_disk());
  create();
  write(200, 300);
  ASSERT_TRUE(node_->flush("t"));
  add(index_spec("i"));
  for (int life = 0; life < 3; ++life) {
    const uint64_t done = state().done_bytes;
    ASSERT_FALSE(state().ready);
    for (int step = 0; step < 100'000 && state().done_bytes == done; ++step) {
      node_->world().run_for_us(1000);
    }
    ASSERT_GT(state().done_bytes, done);
    node_->crash(CrashPolicy::none);
    ASSERT_TRUE(node_->reopen()) << node_->open_error()->to_string();
    EXPECT_GT(state().done_bytes, done);
  }
  EXPECT_TRUE(get_ready());
  EXPECT_EQ(state().entries, 400u);
}

TEST_F(IndexBuild, WhatTheLogAloneHasIsInItAfterARestart) {
  create();
  write(10);
  add(index_spec("i"));
  write(10);
  node_->crash(CrashPolicy::none);
  ASSERT_TRUE(node_->reopen()) << node_->open_error()->to_string();
  ASSERT_TRUE(get_ready());
  ASSERT_TRUE(node_->flush("t"));
  EXPECT_EQ(state().entries, 40u);
}

TEST_F(IndexBuild, ADroppedIndexLeavesTheDisk) {
  create({}, {"m"});
  write(10);
  add(index_spec("i"));
  add(index_spec("j"));
  ASSERT_TRUE(get_ready());
  ASSERT_TRUE(node_->flush("t"));
  EXPECT_EQ(on_disk(), (Ids{1, 2}));
  ASSERT_TRUE(node_->alter_table(dropping_indexes({"i"})));
  for (int64_t us = 0; us < kMostUs && on_disk() != Ids{2}; us += kStepUs) {
    EXPECT_TRUE(state().ready) << "of the other one";
    node_->world().run_for_us(kStepUs);
  }
  EXPECT_EQ(on_disk(), Ids{2});
  EXPECT_EQ(node_->cells("t").size(), 20u);
}

TEST_F(IndexBuild, ADroppedFamilyTakesItsIndexesFromTheDisk) {
  create();
  write(10);
  ASSERT_TRUE(node_->set("t", "a", "g:q", 5, "x"));
  add(index_spec("i"));
  ASSERT_TRUE(get_ready());
  ASSERT_TRUE(node_->flush("t"));
  ASSERT_EQ(on_disk(), Ids{1});
  ASSERT_TRUE(node_->alter_table(dropping({"f"})));
  for (int64_t us = 0; us < kMostUs && !on_disk().empty(); us += kStepUs) {
    node_->world().run_for_us(kStepUs);
  }
  EXPECT_EQ(on_disk(), Ids{});
}

TEST_F(IndexBuild, CommitsGoToANewMemtableWhereTheIndexesChangeAndNowhereElse) {
  create();
  const auto active = [this] {
    const void* found = nullptr;
    each_tablet([&found](engine::Tablet& tablet) { found = tablet.memtables().active(); });
    return found;
  };
  write(1);
  const void* first = active();
  ASSERT_NE(first, nullptr);
  TableChange options = of_table();
  options.options.durability = Durability::periodic;
  ASSERT_TRUE(node_->alter_table(options));
  EXPECT_EQ(active(), first);
  add(index_spec("i"));
  EXPECT_EQ(active(), nullptr);
  write(1);
  const void* second = active();
  ASSERT_NE(second, nullptr);
  ASSERT_TRUE(
      node_->alter_table(altering_index({.name = "i", .max_age_us = kDayUs, .tighter_base = {}})));
  EXPECT_EQ(active(), second) << "the same indexes";
  ASSERT_TRUE(node_->alter_table(dropping_indexes({"i"})));
  EXPECT_EQ(active(), nullptr);
}

TEST_F(IndexBuild, IndexesGoWithSplitsMovesAndMerges) {
  create();
  write(100, 300);
  ASSERT_TRUE(node_->flush("t"));
  add(index_spec("i"));
  const auto split = node_->split(node_->table("t")->tablets[0].id, "m");
  ASSERT_TRUE(split) << split.error().to_string();
  EXPECT_TRUE(get_ready());
  ASSERT_TRUE(node_->move(node_->table("t")->tablets[1].id, 1));
  EXPECT_TRUE(state().ready);
  EXPECT_EQ(state().entries, 200u) << "the parts of a table count once";
  ASSERT_TRUE(node_->move(node_->table("t")->tablets[1].id, 0));
  const auto& tablets = node_->table("t")->tablets;
  ASSERT_TRUE(node_->merge(tablets[0].id, tablets[1].id));
  EXPECT_TRUE(state().ready);
}

TEST_F(IndexBuild, ATableThatNeverHadAnIndexIsNotRewritten) {
  create();
  write(10);
  ASSERT_TRUE(node_->flush("t"));
  node_->world().run_for_us(10'000'000);
  EXPECT_EQ(rewritten(), 0u);
  EXPECT_TRUE(states().indexes.empty());
}

TEST_F(IndexBuild, ADamagedTableIsLeftAndKeepsItsIndexFromBeingReady) {
  TestNodeOptions options;
  options.engine.table_bytes = 16u << 10;
  open(options);
  create();
  write(200, 300);
  ASSERT_TRUE(node_->flush("t"));
  node_->kill();
  std::string damaged;
  for (const std::string& path : node_->disk().all_files()) {
    if (path.ends_with(".sst")) damaged = path;
  }
  ASSERT_TRUE(node_->disk().corrupt(damaged, 200, 0x10));
  ASSERT_TRUE(node_->reopen());
  add(index_spec("i"));
  node_->world().run_for_us(120'000'000);
  const size_t merges = rewritten();
  EXPECT_GT(merges, 2u) << "the others";
  EXPECT_FALSE(state().ready);
  EXPECT_GT(state().share_done(), 0.5);
  EXPECT_LT(state().share_done(), 1.0);
  node_->world().run_for_us(120'000'000);
  EXPECT_EQ(rewritten(), merges) << "it is not tried again and again";
}

}  // namespace
}  // namespace cellar::support
