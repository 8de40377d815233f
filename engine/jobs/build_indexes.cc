#include "engine/jobs/build_indexes.h"

#include <algorithm>

#include "engine/jobs/compact.h"
#include "io/base/log.h"

namespace cellar::engine {
namespace {

// Entries that a read must find may have been left out.
bool lacks_entries(const IndexSection& section, const IndexSchema& index, int64_t now_us) {
  if (section.omitted_to_us == kNothingOmittedUs) return false;
  return !index.max_age_us || section.omitted_to_us >= now_us - *index.max_age_us;
}

bool has_index(const TableMeta& meta, const IndexSchema& index, int64_t now_us) {
  if (meta.cells == 0) return true;
  const IndexSection* section = meta.section_of(index.id);
  return section != nullptr && !lacks_entries(*section, index, now_us);
}

bool has_all(const TableMeta& meta, const TableSchema& schema, int64_t now_us) {
  return std::ranges::all_of(
      schema.indexes, [&](const IndexSchema& index) { return has_index(meta, index, now_us); });
}

bool has_dropped(const TableMeta& meta, const TableSchema& schema) {
  return std::ranges::any_of(meta.sections, [&](const IndexSection& section) {
    return std::ranges::none_of(
        schema.indexes, [&](const IndexSchema& index) { return index.id == section.index; });
  });
}

// The tablet's part of a number that is about all rows of a table.
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

IndexState index_state_of(const Tablet& tablet, const IndexSchema& index, int64_t now_us) {
  IndexState state{.id = index.id};
  const auto count = [&state](uint64_t bytes, bool has) {
    state.total_bytes += bytes;
    if (has) state.done_bytes += bytes;
    state.ready = state.ready && has;
  };
  for (const Ref<TabletMemtable>& memtable : tablet.version().memtables) {
    const Memtable& entries = memtable->entries;
    count(entries.content_bytes(), entries.entries() == 0 || entries.has_index(index.id));
  }
  for (const TabletRun& run : tablet.version().runs) {
    for (const Ref<TabletTable>& table : run.tables) {
      count(table->slice().bytes(), has_index(table->meta(), index, now_us));
      const IndexSection* section = table->meta().section_of(index.id);
      if (section == nullptr) continue;
      state.entries += part_of(*table, section->entries);
      state.bytes += part_of(*table, section->bytes);
      state.skipped += part_of(*table, section->skipped);
    }
  }
  return state;
}

IndexWork index_work_of(const Tablet& tablet, int64_t now_us) {
  IndexWork work;
  const TableSchema& schema = tablet.schema();
  if (schema.next_index == 1) return work;  // it has never had an index
  for (const TabletRun& run : tablet.version().runs) {
    for (const Ref<TabletTable>& table : run.tables) {
      if (table->is_damaged()) continue;
      if (!has_all(table->meta(), schema, now_us)) {
        if (!work.missing) work.missing = table->blob();
        ++work.missing_tables;
      } else if (has_dropped(table->meta(), schema)) {
        if (!work.extra) work.extra = table->blob();
        ++work.extra_tables;
      }
    }
  }
  return work;
}

Async<Result<IndexNext>> build_indexes(Tablet& tablet, bool extras) {
  const TrustedClock& clock = tablet.shard().runtime.clock;
  const IndexWork before = index_work_of(tablet, clock.now_us());
  if (!before.missing && !before.extra) co_return IndexNext::nothing;
  if (!before.missing && !extras) co_return IndexNext::extra;
  CO_TRY_VOID(
      co_await rewrite_for_indexes(tablet, before.missing ? *before.missing : *before.extra));
  const IndexWork after = index_work_of(tablet, clock.now_us());
  // A flush adds tables that have everything, so what is left decreases.
  if (before.missing ? after.missing_tables >= before.missing_tables
                     : after.extra_tables >= before.extra_tables) {
    log_warn("jobs", "tablet={} a table was rewritten for its indexes without effect", tablet.id());
    co_return IndexNext::nothing;
  }
  if (after.missing) co_return IndexNext::missing;
  co_return after.extra ? IndexNext::extra : IndexNext::nothing;
}

}  // namespace cellar::engine
