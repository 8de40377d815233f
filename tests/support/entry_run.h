// EntryRun: a sorted run of entries in memory, as a source of reads whose iterator blocks at
// random, like a table whose blocks are not in memory.
#pragma once

#include <memory>
#include <vector>

#include "engine/iter/range_delete.h"
#include "engine/memtable/memtable.h"
#include "engine/read/source.h"
#include "tests/support/vector_iterator.h"

namespace cellar::support {

struct EntryRun {
  engine::EntryVector entries;  // sorted by key
  std::vector<engine::RangeTombstone> ranges;
  engine::SourceBounds bounds;  // unknown: reads open it always
  engine::ColumnList columns = engine::ColumnList::unknown();
};

inline EntryRun copy_of(const engine::Memtable& memtable) {
  EntryRun run;
  engine::Memtable::Iterator it = memtable.iterator();
  for (engine::Step s = it.seek(""); s == engine::Step::ready; s = it.next())
    run.entries.emplace_back(it.key(), it.value());
  run.ranges = memtable.range_deletes();
  run.bounds = {memtable.time_bounds().known, memtable.time_bounds().max_timestamp_us,
                memtable.max_stamp(), memtable.time_bounds().latest_expiry_us != INT64_MIN};
  run.columns = memtable.columns();
  return run;
}

class EntryRunSource final : public engine::ReadSource {
 public:
  // Blocks before one move in `block_one_in`; without `random` never. Both outlive this.
  EntryRunSource(const EntryRun& run, Random* random, uint64_t block_one_in)
      : run_(run), random_(random), block_one_in_(block_one_in) {}
  engine::SourceBounds bounds() const override {
    engine::SourceBounds bounds = run_.bounds;
    bounds.columns = &run_.columns;
    return bounds;
  }
  engine::EntryIterator* open(const engine::ReadScope& /*scope*/,
                              engine::IteratorArena& arena) const override {
    return arena.make<engine::VectorIterator>(run_.entries, random_, block_one_in_);
  }
  const std::vector<engine::RangeTombstone>& range_deletes() const override { return run_.ranges; }

 private:
  const EntryRun& run_;
  Random* random_;
  uint64_t block_one_in_;
};

}  // namespace cellar::support
