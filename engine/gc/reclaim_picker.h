// What to write anew so that dead bytes leave the disk: the piece of work that takes away the most
// for what it writes. A pure function of what is known of a tablet's tables.
//
// Two kinds of work:
//   a table alone           takes away what died in it by time; only where that needs nothing else
//   the runs from one on,   down to the oldest: takes away what died in them by time, and what the
//   down to the oldest      runs among them killed in each other
//
// Work that takes nothing overdue away is not chosen. A damaged table cannot be read, so what would
// read it is not chosen either. How each table stands with the choice is told by the same
// enumeration of work (reclaim_standings), so that who explains tells what the picker did.
//
// Example, overdue (dead) of bytes: run 0 (0 of 10), run 1 with tables A (9 of 10) and B (1 of 10),
// none of it killed by newer runs: A alone takes 9 away and writes at most 1. Had run 0 killed 8 of
// each, runs 0 and 1 together would take 8 + 8 + 10 away of 30.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cellar::engine {

// What newer data killed in a table.
struct KilledBy {
  size_t killer = 0;  // index of the run; SIZE_MAX: a memtable
  double dead = 0;
  double overdue = 0;
};

struct ReclaimInput {
  size_t run = 0;  // index, newest first; tables come by it
  double bytes = 0;
  double dead = 0;  // by time
  double overdue = 0;
  std::vector<KilledBy> killed;
  bool alone = false;
  bool damaged = false;
};

struct ReclaimWork {
  std::optional<size_t> table;  // index of the one to write anew,
  size_t first_run = 0;         // or else the newest run to merge, with all that are older
  bool flush = false;           // memtables first: they killed something
  double dead = 0;              // taken away, about
  double bytes = 0;             // read, about
};

// Nothing: no work takes anything overdue away. `counts`: some family counts versions, so that what
// is newer decides what a merge may leave out (retention/drop_policy.h): all runs are merged or
// none.
std::optional<ReclaimWork> pick_reclaim(std::span<const ReclaimInput> tables, bool counts);

// How a table stands.
struct ReclaimStanding {
  enum class Kind : uint8_t {
    none,     // no work takes anything overdue of it away
    chosen,   // the work that is picked does
    later,    // other work does, which frees less for what it writes
    blocked,  // all work that does would read a damaged table
  };
  Kind kind = Kind::none;
  std::optional<size_t> blocker;  // of blocked: that table
};

// One for each table; as pick_reclaim() of the same tables.
std::vector<ReclaimStanding> reclaim_standings(std::span<const ReclaimInput> tables, bool counts);

}  // namespace cellar::engine
