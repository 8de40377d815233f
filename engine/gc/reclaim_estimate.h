// ReclaimEstimate: what lies dead in each table of a tablet, when it died and what must be merged
// for it to leave. Made from what is known of tables and memtables, without reading any.
//
// Two ways to die:
//   by time      age, own expiry, a dropped family: retention/death_spans.h tells it of each table
//                by itself. Rewriting that table is enough, unless versions count or something
//                beside it may matter (`alone`).
//   by newer     a newer run or memtable overwrote, deleted or pushed out the cell. It leaves when
//                the two are merged down to the oldest run. Deletes that a merge left in the oldest
//                run kill within it.
//
// How much newer data killed is bounded, then sampled. A new cell kills at most one older cell: it
// overwrites one, or lifts the rank of the versions below it by one. A row, family or column delete
// kills at most a row; a range delete, the blocks of its range. Whether the row is there at all the
// older table's filter is asked for a sample of the newer one's rows (CellProfile::row_sample); a
// table without a sample is taken to hit everywhere. Where no family counts versions a cell kills
// only at its own timestamp, so tables of different times do not touch each other.
//
// Invariants
//   1. Bytes that nothing is known of are never claimed to be dead.
//   2. Of one table no more is dead than there is.
//   3. A view holds its tables: it is for the moment, not to be kept.
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
  bool unknown = false;  // it does not tell what dies in it
  bool alone = false;    // rewriting it alone takes away what died by time
  std::vector<DeathSpan> by_time;
  std::vector<DeathByNewer> by_newer;
  std::vector<DeathSpan> hidden;  // by_time as reads see it; only where a rule may be undone

  double dead(int64_t at_us) const;  // about, of both kinds; at most `bytes`
  double held(int64_t at_us) const;
  int64_t first_death_us() const;
};

struct ReclaimEstimate {
  std::vector<TableDeaths> tables;  // newest run first
  uint64_t bytes = 0;
  uint64_t looks = 0;  // at a table or a run, on behalf of another: what it has cost

  double dead(int64_t at_us) const;
};

ReclaimEstimate reclaim_estimate(Tablet& tablet);

}  // namespace cellar::engine
