#include "engine/version/version.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "engine/read/memtable_source.h"
#include "engine/read/run_source.h"

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

CommitStamp settled_of(const Version& version) {
  CommitStamp settled = kMaxStamp;
  for (const auto& memtable : version.memtables) {
    const uint64_t first = memtable->entries.min_stamp().value();
    settled = std::min(settled, CommitStamp{first == 0 ? 0 : first - 1});
  }
  for (const TabletRun& run : version.runs) {
    for (const auto& table : run.tables) settled = std::min(settled, table->meta().settled_to());
  }
  return settled;
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

}  // namespace cellar::engine
