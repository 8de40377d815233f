// Merge ranges: the ranges of rows by which a large tablet is merged, one at a time. So what died
// in it leaves the disk range after range, each by its own deadline, and a shard is not held for as
// long as a merge of everything takes.
//
// What is here is the mechanism, and nothing of the engine asks for it by itself: reclaiming merges
// a tablet in one piece, and no tablet has cuts but those that a test gives it. (Where a merge of
// everything just about holds the deadline one piece holds it better, for each merge has its fixed
// costs; ranges pay where it cannot.)
//
// A tablet has *cuts*: rows at which everything that is written from now on begins a new table,
// flushes and merges alike; row-range deletes are cut there, too. A cut is *clean* when no table on
// disk holds something on both sides of it. The rows between two clean cuts next to each other are
// a *range*, and every table lies in one.
//
// A merge of a range takes from it all tables of some run and of all older ones. What it writes
// joins the tablet's oldest run. Why that is right:
//
//   1. Order. A greater run number holds newer commits, for each row: in the range nothing is left
//      of the inputs, and what is newer than they are has a greater number than the first of them,
//      which is not less than the oldest's. Readers, pickers and merges rely on no more than that;
//      the neighbours that are united into one tablet leave such runs, too (reshape_plan.h).
//   2. Disjoint. Of the oldest run nothing else lies in the range, so its tables still do not
//      overlap.
//   3. The bottom. What a merge may leave out is argued for each row by itself (merge_cut.h): O, W
//      and M are what is older, newer and merged of that row, its deletes of ranges included. In
//      the range O is empty. Its other facts (the first commit of W, settled, expiries) are taken
//      over the whole tablet, which errs on the side of keeping.
//   4. Settled. `TableMeta::settled` is said of a table's own cells; of the tablet the least
//   counts.
//   5. Nothing but whole tables goes in and out, by one edit; versions pin them as ever; nothing is
//      new on disk, so an older program serves the tablet, too. Cuts are not written down: after a
//      start they can be found where tables end (cuts_on_disk).
//
// Example, cuts c and m, tables as run:rows. Runs 1: a-b c-l m-z, 5: a-b d-k, 6: a-z. Before run 6
// there were three ranges; now both cuts are unclean and everything is one range, until run 6 is
// merged. Without it, the middle range merged gives 1: a-b c-l' m-z, 5: a-b.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/model/read_spec.h"
#include "engine/version.h"

namespace cellar::engine {

class Tablet;

// Rows, ascending, each behind the tablet's first.
using Cuts = std::vector<std::string>;

// A tablet is merged by so many ranges at most,
inline constexpr size_t kMostMergeRanges = 8;
// none of which is much smaller than a memtable's bytes by this: its part of a flush is a file.
inline constexpr uint64_t kMergeRangesOfMemtable = 8;
// It is worth it where a merge of everything takes more than this part of reclaim_within; below
// that a tablet is merged in one piece, and a flush is one table.
inline constexpr double kLongMerge = 0.125;

// Those that no table has something on both sides of.
Cuts clean_cuts(const std::vector<TabletRun>& runs, const Cuts& cuts);

// The ranges between clean cuts: one more than there are.
std::vector<KeyRange> ranges_between(const Cuts& clean);
// The index of the one that the table lies in.
size_t range_of(const TabletTable& table, const Cuts& clean);

// What of the runs lies in rows between clean cuts, in their order; runs without any are left out.
// Nothing when some table lies across an end of the rows.
struct RangeTables {
  std::vector<TabletRun> runs;
  bool whole = true;  // false: some table lies across an end
};
RangeTables tables_in(const std::vector<TabletRun>& runs, const KeyRange& rows);

// Clean cuts where tables end, so that there are about so many ranges of like size; fewer where
// they end too seldom.
Cuts cuts_on_disk(const std::vector<TabletRun>& runs, size_t ranges);

// By how many ranges the tablet is to be merged, by its size, its deadline and how fast merges of
// the shard are; 1: in one piece.
size_t wanted_ranges(Tablet& tablet);

// Brings the tablet's cuts to what is wanted: chosen where its bytes are (split_point.h), moved
// when half of the bytes lie in one range, given up when it is small enough. What is written from
// then on goes by them. A plain call of some hundred microseconds where it changes something.
void renew_cuts(Tablet& tablet);

}  // namespace cellar::engine
