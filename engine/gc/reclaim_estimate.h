// ReclaimEstimate: the dead bytes in each table of a tablet, when they died and what must be merged
// to remove them. Computed from known facts about tables and memtables, without reading any.
//
// Two ways to die:
//   by time      age, own expiry, a dropped family: retention/death_spans.h computes it for each
//                table. Rewriting that table is enough, unless versions count or other data may
//                matter (`alone`). So do entries of an index past its own age, whose cells may live
//                on.
//   by newer     a newer run or memtable overwrote, deleted or pushed out the cell. It is removed
//                when the two are merged down to the oldest run. Deletes that a merge left in the
//                oldest run kill within it.
//
// The bytes killed by newer data are bounded by counters of both tables: a new cell kills at most
// one older cell (it overwrites one, or raises the rank of the versions below it by one), a row,
// family or column delete at most a row, a range delete the blocks of its range. If no family
// counts versions, a cell kills only at its own timestamp, so tables of different times do not
// affect each other.
//
// The counters cannot tell a new row from an overwritten one. The older tables' filters can: they
// are asked for a sample of the newer table's rows (CellProfile::row_sample), and the bound applies
// to the part of the sample that they may contain. Where no filter answers, all rows count as
// contained.
//
// Invariants
//   1. Bytes of which nothing is known are never counted as dead.
//   2. The dead bytes of a table do not exceed its bytes.
//   3. An estimate holds its tables: it is for immediate use, not for keeping.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/retention/death_spans.h"
#include "engine/tablet/tablet.h"

namespace cellar::engine {

inline constexpr size_t kByMemtables = SIZE_MAX;  // as a killer, in place of a run's index

struct DeathByNewer {
  size_t killer = 0;  // index of the run, newest first; or kByMemtables
  DeathSpan span;
};

struct TableDeaths {
  Ref<TabletTable> table;
  size_t run = 0;           // index, newest first
  uint64_t run_number = 0;  // TabletRun::number
  uint64_t bytes = 0;
  bool unknown = false;  // the table has no statistics about expiry
  bool alone = false;    // rewriting it alone removes what died by time
  std::vector<DeathSpan> by_time;
  std::vector<DeathByNewer> by_newer;
  std::vector<DeathSpan> hidden;  // by_time as reads see it; only if a rule may be undone

  double dead(int64_t at_us) const;  // approximate, of both kinds; at most `bytes`
  double held(int64_t at_us) const;
  int64_t first_death_us() const;
};

struct ReclaimEstimate {
  std::vector<TableDeaths> tables;  // newest run first
  uint64_t bytes = 0;
  uint64_t looks = 0;  // lookups in other tables or runs: the cost of the estimate

  double dead(int64_t at_us) const;
};

ReclaimEstimate reclaim_estimate(Tablet& tablet);

}  // namespace cellar::engine
