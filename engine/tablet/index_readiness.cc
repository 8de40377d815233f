#include "engine/tablet/index_readiness.h"

#include <algorithm>

#include "io/base/saturating.h"

namespace cellar::engine {

bool has_entries(const TableMeta& table, const IndexSchema& index, int64_t now_us) {
  const IndexSection* section = table.section_of(index.id);
  if (section == nullptr) return false;
  if (section->omitted_to_us == INT64_MIN) return true;
  return index.max_age_us && saturating_add(section->omitted_to_us, *index.max_age_us) < now_us;
}

namespace {

// The slice's part of a number that is about all rows of a table.
uint64_t part_of(const TabletTable& table, uint64_t number) {
  const uint64_t all = table.meta().data_bytes;
  if (!table.slice().is_cut() || all == 0) return number;
  const double part = static_cast<double>(table.slice().bytes()) / static_cast<double>(all);
  return static_cast<uint64_t>(static_cast<double>(number) * std::min(part, 1.0));
}

}  // namespace

void IndexState::add(const IndexState& other) {
  total_bytes += other.total_bytes;
  done_bytes += other.done_bytes;
  ready = ready && other.ready;
  entries += other.entries;
  bytes += other.bytes;
  skipped += other.skipped;
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
    const Memtable& entries = memtable->entries;
    const bool has = entries.has_index(index.id);
    count(entries.content_bytes(), has);
    if (has) state.entries += entries.index_entry_count(index.id);
  }
  for (const TabletRun& run : version.runs) {
    for (const Ref<TabletTable>& table : run.tables) {
      count(table->slice().bytes(), has_entries(table->meta(), index, now_us));
      const IndexSection* section = table->meta().section_of(index.id);
      if (section == nullptr) continue;
      state.entries += part_of(*table, section->entries);
      state.bytes += part_of(*table, section->bytes());
      state.skipped += part_of(*table, section->skipped);
    }
  }
  return state;
}

}  // namespace cellar::engine
