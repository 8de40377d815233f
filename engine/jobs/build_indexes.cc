#include "engine/jobs/build_indexes.h"

#include <algorithm>

#include "engine/jobs/compact.h"
#include "engine/tablet/index_readiness.h"
#include "io/base/log.h"

namespace cellar::engine {
namespace {

bool has_all(const TabletTable& table, const TableSchema& schema, int64_t now_us) {
  if (table.slice().table().sections_are_damaged()) return false;
  return std::ranges::all_of(schema.indexes, [&](const IndexSchema& index) {
    return has_entries(table.meta(), index, now_us);
  });
}

bool has_dropped(const TableMeta& meta, const TableSchema& schema) {
  return std::ranges::any_of(meta.sections, [&](const IndexSection& section) {
    return std::ranges::none_of(
        schema.indexes, [&](const IndexSchema& index) { return index.id == section.index; });
  });
}

}  // namespace

IndexWork index_work_of(const Tablet& tablet, int64_t now_us) {
  IndexWork work;
  const TableSchema& schema = tablet.schema();
  if (schema.next_index == 1) return work;  // it has never had an index
  for (const TabletRun& run : tablet.version().runs) {
    for (const Ref<TabletTable>& table : run.tables) {
      if (table->is_damaged()) continue;
      if (!has_all(*table, schema, now_us)) {
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
  TrustedClock& clock = tablet.shard().runtime.clock;
  const IndexWork before = index_work_of(tablet, clock.now_us());
  if (!before.missing && !before.extra) co_return IndexNext::nothing;
  if (!before.missing && !extras) co_return IndexNext::extra;
  const BlobId blob = before.missing ? *before.missing : *before.extra;
  CO_TRY_VOID(co_await rewrite_for_indexes(tablet, blob));
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
