// TableBed: a TabletBed whose runs are real tables in a blob store in memory, made by the jobs that
// flush and compact a node.
#pragma once

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "engine/compaction/merge_job.h"
#include "engine/read/run_source.h"
#include "tests/support/scan_driver.h"
#include "tests/support/table_fixture.h"
#include "tests/support/tablet_bed.h"

namespace cellar::support {

class TableBed final : public engine::TableFixture, public engine::BlobIds {
 public:
  using Run = std::vector<std::unique_ptr<engine::TableReader>>;

  explicit TableBed(Random& random, size_t cache_bytes = 8u << 20)
      : TableFixture(cache_bytes), bed(random) {
    bed.schema().options.block_bytes = engine::small_blocks().block_bytes;
  }

  // From now on some tables have an index partitioned into parts of a few blocks.
  void use_parts(Random& random) {
    if (random.one_in(2)) part_bytes = random.one_in(2) ? 1 : 200 + random.below(300);
  }

  Result<BlobId> next_blob_id() override { return BlobId{++last_blob_}; }

  engine::MergePlan plan(uint64_t table_bytes) {
    engine::MergePlan plan;
    plan.schema = bed.schema();
    plan.tablet = TabletId{1};
    plan.table_bytes = table_bytes;
    plan.part_bytes = part_bytes;
    plan.background = background;
    return plan;
  }
  Run open_all(const std::vector<engine::TableMeta>& metas) {
    Run run;
    for (const engine::TableMeta& meta : metas) run.push_back(open(meta.blob));
    return run;
  }
  Result<std::vector<engine::TableMeta>> execute(engine::MergePlan plan) {
    engine::MergeJob job(store, *this, std::move(plan));
    auto result = world.block_on(loop, job.run());
    entries_out = job.stats().entries_out;
    return result;
  }

  // Flushes all memtables into one run.
  void flush(uint64_t table_bytes = 1u << 30) {
    const auto memtables = bed.take_memtables();
    engine::MergePlan plan = this->plan(table_bytes);
    plan.facts.bottom = runs.empty();
    plan.run = ++last_run_;
    for (size_t i = memtables.size(); i > 0; --i) {
      plan.inputs.push_back(std::make_unique<engine::Memtable::Iterator>(memtables[i - 1]->tree()));
      const auto& ranges = memtables[i - 1]->range_deletes();
      plan.range_deletes.insert(plan.range_deletes.end(), ranges.begin(), ranges.end());
    }
    auto outputs = execute(std::move(plan));
    CHECK(outputs.has_value());
    if (!outputs->empty()) runs.push_back(open_all(*outputs));
  }

  engine::MergePlan window(size_t first, size_t count, uint64_t table_bytes) {
    engine::MergePlan plan = this->plan(table_bytes);
    plan.facts.bottom = first == 0;
    plan.run = runs[first + count - 1].front()->meta().run;
    for (size_t i = first + count; i > first; --i)
      for (const auto& table : runs[i - 1]) {
        plan.inputs.push_back(std::make_unique<engine::TableIterator>(
            *table, engine::TableIteratorOptions::for_compaction()));
        plan.range_deletes.insert(plan.range_deletes.end(), table->range_deletes().begin(),
                                  table->range_deletes().end());
      }
    return plan;
  }
  // Merges runs [first, first + count), oldest first.
  void compact(size_t first, size_t count, uint64_t table_bytes = 1u << 30) {
    auto outputs = execute(window(first, count, table_bytes));
    CHECK(outputs.has_value());
    const auto begin = runs.begin() + static_cast<ptrdiff_t>(first);
    const auto end = begin + static_cast<ptrdiff_t>(count);
    for (auto run = begin; run != end; ++run)
      for (auto& table : *run) {
        const BlobId id = table->id();
        table.reset();
        CHECK(world.block_on(loop, store.remove(id)).has_value());
      }
    if (outputs->empty()) {
      runs.erase(begin, end);
      return;
    }
    *begin = open_all(*outputs);
    runs.erase(begin + 1, end);
  }

  // Of a cursor for `spec`, which outlives it.
  engine::ScanSetup setup(const ReadSpec& spec, bool prune = true) {
    engine::ScanSetup setup = bed.setup(spec);
    for (size_t i = runs.size(); i > 0; --i) {
      std::vector<const engine::TableSlice*> tables;
      for (const auto& table : runs[i - 1]) tables.push_back(&slices_.emplace_back(*table));
      TabletBed::add_source(setup, std::make_unique<engine::RunSource>(std::move(tables), prune));
    }
    return setup;
  }
  std::unique_ptr<engine::ScanCursor> open_scan(const ReadSpec& spec, bool prune) {
    return std::make_unique<engine::ScanCursor>(setup(spec, prune));
  }
  std::vector<OwnedCell> read(const ReadSpec& spec, bool prune = true) {
    const auto cursor = open_scan(spec, prune);
    CollectingSink sink;
    while (true) {
      const engine::ScanStep step = cursor->run(sink, 50);
      if (step == engine::ScanStep::blocked) {
        world.block_on(loop, cursor->load());
        continue;
      }
      if (step == engine::ScanStep::yielded) continue;
      EXPECT_EQ(step, engine::ScanStep::done);
      return sink.cells;
    }
  }

  TabletBed bed;
  std::vector<Run> runs;             // oldest first
  uint64_t entries_out = 0;          // by the last job
  Background* background = nullptr;  // used by jobs; outlives them
  size_t part_bytes = 0;             // size of an index part in new tables; 0: a whole index

 private:
  uint64_t last_blob_ = 0;
  uint64_t last_run_ = 0;
  std::deque<engine::TableSlice> slices_;  // of every open scan
};

}  // namespace cellar::support
