#include "engine/version.h"

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
    std::sort(run.tables.begin(), run.tables.end(), [](const auto& a, const auto& b) {
      return a->meta().smallest_key < b->meta().smallest_key;
    });
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<std::unique_ptr<ReadSource>> read_sources(const Version& version) {
  std::vector<std::unique_ptr<ReadSource>> sources;
  for (const auto& memtable : version.memtables) {
    sources.push_back(std::make_unique<MemtableSource>(memtable->entries));
  }
  for (const TabletRun& run : version.runs) {
    std::vector<TableReader*> readers;
    for (const auto& table : run.tables) readers.push_back(&table->reader());
    sources.push_back(std::make_unique<RunSource>(std::move(readers)));
  }
  return sources;
}

}  // namespace cellar::engine
