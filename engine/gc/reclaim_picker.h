// Selects the work that removes most dead bytes for what it writes. A pure function of the known
// facts about a tablet's tables.
//
// Two kinds of work:
//   a table alone           removes what died in it by time; only if that needs nothing else
//   the runs from one on,   removes what died in them by time, and what these runs killed in each
//   down to the oldest      other
//
// Work that removes nothing overdue is not selected, nor is work that would read a damaged table.
//
// Example, overdue (dead) of bytes: run 0 (0 of 10), run 1 with tables A (9 of 10) and B (1 of 10),
// none of it killed by newer runs: A alone removes 9 and writes at most 1. If run 0 had killed 8 of
// each, runs 0 and 1 together would remove 8 + 8 + 10 of 30.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cellar::engine {

// Bytes of a table killed by newer data.
struct KilledBy {
  size_t killer = 0;  // index of the run; SIZE_MAX: a memtable
  double dead = 0;
  double overdue = 0;
};

struct ReclaimInput {
  size_t run = 0;  // index, newest first; tables are sorted by it
  double bytes = 0;
  double dead = 0;  // by time
  double overdue = 0;
  std::vector<KilledBy> killed;
  bool alone = false;
  bool damaged = false;
};

struct ReclaimWork {
  std::optional<size_t> table;  // index of the table to rewrite,
  size_t first_run = 0;         // or else the newest run to merge, together with all older ones
  bool flush = false;           // flush memtables first: they killed something
  double dead = 0;              // approximate bytes removed
  double bytes = 0;             // approximate bytes read
};

// Empty: no work removes anything overdue. `counts`: some family counts versions, so that newer
// data determines what a merge may drop (retention/drop_policy.h): all runs are merged or none.
std::optional<ReclaimWork> pick_reclaim(std::span<const ReclaimInput> tables, bool counts);

// For each table: a damaged one, if all work that removes overdue bytes of the table would read it
// or another damaged one.
std::vector<std::optional<size_t>> reclaim_blockers(std::span<const ReclaimInput> tables,
                                                    bool counts);

}  // namespace cellar::engine
