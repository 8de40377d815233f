#include "engine/version/version.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "engine/read/memtable_source.h"
#include "engine/read/run_source.h"
#include "engine/retention/dead_table.h"

namespace cellar::engine {
std::vector<TabletRun> make_runs(std::vector<Ref<TabletTable>> tables) {
  std::map<uint64_t, TabletRun, std::greater<>> by_number;
  for (Ref<TabletTable>& table : tables) {
    TabletRun& run = by_number[table->meta().run];
    run.number = table->meta().run;
    run.tables.push_back(std::move(table));
  }
  std::vector<TabletRun> runs;
  for (auto& [number, run] : by_number) {
    std::sort(run.tables.begin(), run.tables.end(),
              [](const auto& a, const auto& b) { return a->slice().first() < b->slice().first(); });
    runs.push_back(std::move(run));
  }
  return runs;
}

CommitStamp gc_watermark_of(const Version& version) {
  CommitStamp gc_watermark = kMaxStamp;
  for (const auto& memtable : version.memtables) {
    const uint64_t first = memtable->entries.min_stamp().value();
    gc_watermark = std::min(gc_watermark, CommitStamp{first == 0 ? 0 : first - 1});
  }
  for (const TabletRun& run : version.runs) {
    for (const auto& table : run.tables)
      gc_watermark = std::min(gc_watermark, table->meta().watermark());
  }
  return gc_watermark;
}

ReadSources read_sources(const Version& version, const std::vector<const TabletTable*>& unread) {
  ReadSources sources;
  const absl::flat_hash_set<const TabletTable*> skipped(unread.begin(), unread.end());
  for (const auto& memtable : version.memtables) {
    sources.push_back(std::make_unique<MemtableSource>(memtable->entries));
  }
  for (const TabletRun& run : version.runs) {
    std::vector<const TableSlice*> slices;
    for (const auto& table : run.tables) {
      if (!skipped.contains(table.get())) slices.push_back(&table->slice());
    }
    sources.push_back(std::make_unique<RunSource>(std::move(slices)));
  }
  return sources;
}

namespace {

bool may_expire(const TimeBounds& bounds) {
  return !bounds.known || bounds.latest_expiry_us != INT64_MIN;
}

// The number of memtables and tables that may hold cells with an expiry of their own.
size_t count_expiring(const Version& version) {
  size_t count = 0;
  for (const auto& memtable : version.memtables) {
    count += may_expire(memtable->entries.time_bounds());
  }
  for (const TabletRun& run : version.runs) {
    for (const auto& table : run.tables) count += may_expire(table->meta().bounds);
  }
  return count;
}

void add_older(Beside& beside, const TimeBounds& bounds) {
  beside.older_min_us = std::min(beside.older_min_us, bounds.known ? bounds.min_timestamp_us : 0);
  beside.older_max_us =
      std::max(beside.older_max_us, bounds.known ? bounds.max_timestamp_us : INT64_MAX);
}

}  // namespace

UnreadTables unread_tables(const Version& version, const TableRetention& retention,
                           int64_t now_us) {
  UnreadTables unread;
  const size_t expiring = count_expiring(version);
  Beside beside{false, INT64_MAX, INT64_MIN};
  for (auto run = version.runs.rbegin(); run != version.runs.rend(); ++run) {
    for (const auto& table : run->tables) {
      const TableMeta& meta = table->meta();
      if (meta.deletes() + meta.range_deletes != 0) continue;
      beside.any_expiry = expiring > (may_expire(meta.bounds) ? 1u : 0u);
      const int64_t from_us = std::max(dead_from_us(retention, meta.bounds),
                                       first_masking_nothing_us(retention, meta.bounds, beside));
      if (from_us <= now_us) {
        unread.tables.push_back(table.get());
      } else {
        unread.next_us = std::min(unread.next_us, from_us);
      }
    }
    for (const auto& table : run->tables) add_older(beside, table->meta().bounds);
  }
  return unread;
}

}  // namespace cellar::engine
