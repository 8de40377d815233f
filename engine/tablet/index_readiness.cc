#include "engine/tablet/index_readiness.h"

#include "io/base/saturating.h"

namespace cellar::engine {

bool has_entries(const TableMeta& table, const IndexSchema& index, int64_t now_us) {
  const IndexSection* section = table.section_of(index.id);
  if (section == nullptr) return false;
  if (section->omitted_to_us == INT64_MIN) return true;
  return index.max_age_us && saturating_add(section->omitted_to_us, *index.max_age_us) < now_us;
}

IndexState index_state_of(const Version& version, const IndexSchema& index, int64_t now_us) {
  IndexState state;
  state.id = index.id;
  const auto count = [&state](uint64_t bytes, bool done) {
    state.total_bytes += bytes;
    if (done) state.done_bytes += bytes;
    state.ready &= done;
  };
  for (const Ref<TabletMemtable>& memtable : version.memtables) {
    count(memtable->entries.content_bytes(), memtable->entries.has_index(index.id));
  }
  for (const TabletRun& run : version.runs) {
    for (const Ref<TabletTable>& table : run.tables) {
      count(table->slice().bytes(), has_entries(table->meta(), index, now_us));
      const IndexSection* section = table->meta().section_of(index.id);
      if (section == nullptr) continue;
      state.entries += section->entries;
      state.bytes += section->bytes();
      state.skipped += section->skipped;
    }
  }
  return state;
}

}  // namespace cellar::engine
