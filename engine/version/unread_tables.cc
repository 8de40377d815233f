#include "engine/version/unread_tables.h"

#include <algorithm>

#include "engine/retention/dead_table.h"

namespace cellar::engine {
namespace {

bool may_expire(const TimeBounds& bounds) {
  return !bounds.known || bounds.latest_expiry_us != INT64_MIN;
}

// Memtables and tables that may hold cells with an expiry of their own.
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
