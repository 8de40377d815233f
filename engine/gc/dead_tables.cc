#include "engine/gc/dead_tables.h"

#include <algorithm>
#include <limits>

#include "engine/model/types.h"
#include "engine/retention/dead_table.h"

namespace cellar::engine {
namespace {

bool holds_deletes(const TableMeta& meta) { return meta.deletes() + meta.range_deletes != 0; }

bool may_expire(const TimeBounds& bounds) {
  return !bounds.known || bounds.latest_expiry_us != INT64_MIN;
}

void add_older(Beside& beside, const TimeBounds& bounds) {
  beside.older_min_us = std::min(beside.older_min_us, bounds.known ? bounds.min_timestamp_us : 0);
  beside.older_max_us =
      std::max(beside.older_max_us, bounds.known ? bounds.max_timestamp_us : kNeverUs);
}

// The data beside the tables of each run.
class Neighbours {
 public:
  explicit Neighbours(const Version& version) : older_(version.runs.size()) {
    for (const auto& memtable : version.memtables)
      expiring_ += may_expire(memtable->entries.time_bounds());
    Beside older{false, kNeverUs, std::numeric_limits<int64_t>::min()};
    for (size_t i = version.runs.size(); i-- > 0;) {
      older_[i] = older;
      for (const Ref<TabletTable>& table : version.runs[i].tables) {
        expiring_ += may_expire(table->meta().bounds);
        add_older(older, table->meta().bounds);
      }
    }
  }
  // For a table of run `at`.
  Beside beside(const TableMeta& meta, size_t at) const {
    Beside beside = older_[at];
    beside.any_expiry = expiring_ > (may_expire(meta.bounds) ? 1u : 0u);
    return beside;
  }

 private:
  // number of memtables and tables that may hold cells with an expiry of their own
  size_t expiring_ = 0;
  std::vector<Beside> older_;
};

// The deletes of a table of run `at` cover only cells of that table: nothing is older.
bool deletes_reach_nothing(const Version& version, const TableMeta& meta, size_t at) {
  if (!holds_deletes(meta)) return true;
  const bool oldest = at + 1 == version.runs.size();
  return oldest && (meta.range_deletes == 0 || version.runs[at].tables.size() == 1);
}

// The newest of the older tables that overlaps its rows.
Ref<TabletTable> first_masked(const Version& version, const TabletTable& table, size_t at) {
  const TableMeta& meta = table.meta();
  for (size_t i = at + 1; i < version.runs.size(); ++i) {
    const auto& tables = version.runs[i].tables;
    if (tables.empty()) continue;
    if (meta.range_deletes != 0) return tables.front();
    const auto first =
        std::partition_point(tables.begin(), tables.end(), [&meta](const Ref<TabletTable>& older) {
          return older->slice().ends_before(meta.smallest_key);
        });
    if (first != tables.end() && (*first)->slice().first() <= Bytes(meta.largest_key))
      return *first;
  }
  return nullptr;
}

}  // namespace

std::vector<DeadTable> dead_tables(Tablet& tablet, int64_t now_us) {
  const Version& version = tablet.version();
  const int64_t leaves_us = now_us - tablet.margin_us();
  const TableRetention firm =
      TableRetention::firm(tablet.schema(), gc_watermark_of(version), leaves_us);
  const Neighbours neighbours(version);
  std::vector<DeadTable> all;
  for (size_t i = 0; i < version.runs.size(); ++i) {
    for (const Ref<TabletTable>& table : version.runs[i].tables) {
      const TableMeta& meta = table->meta();
      const int64_t from_us = dead_from_us(firm, meta.bounds);
      // A table with only deletes does not die; merges drop it.
      const bool deletes_alone =
          holds_deletes(meta) && !meta.bounds.has_cells() && !meta.bounds.has_tokens();
      if (from_us > now_us || deletes_alone) continue;
      DeadTable dead{table, from_us, false, nullptr};
      const bool masks = !deletes_reach_nothing(version, meta, i) ||
                         !masks_nothing(firm, meta.bounds, neighbours.beside(meta, i), leaves_us);
      dead.goes = !masks && from_us <= leaves_us;
      if (masks) dead.masked = first_masked(version, *table, i);
      all.push_back(std::move(dead));
    }
  }
  return all;
}

}  // namespace cellar::engine
