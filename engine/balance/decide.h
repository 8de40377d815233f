// Decides the next change of tablets: a pure function of the view.
//
// The first rule that applies wins:
//   size    a tablet with split_bytes is split in half by bytes.
//   early   a table with fewer tablets than shards, with early_split_bytes or early_split_load, is
//           split: its heaviest tablet, by load if there is any.
//   spread  such a table has two tablets on one shard and none on another: one moves there, unless
//           that would make the other shard the busier one.
//   load    for kPersistUs one shard has been busier than another by a quarter of the mean: the
//           tablet whose load is nearest to half of the difference moves. If none can, because one
//           tablet has nearly all of it, that tablet is split where half of its requests are on
//           either side; its parts move next.
//   data    load is balanced, but one shard has much more data than another: a quiet tablet moves.
//   merge   a tablet that has lost its data is merged with a neighbour after merge_idle_us. Tablets
//           that never held data (of a table created with splits) are left alone.
//
// The rules do not undo one another: a tablet that moved stays for a while (LoadBook::kRestUs); a
// move for load leaves its target less busy than its source was, and a move for spread or data
// never makes a shard the busiest; data does not move the only tablet that a table has on a shard
// to a shard that has one; a merge waits if the early rule would split again.
//
// Example: 4 shards, one table of one tablet, 40 MiB loaded at 50,000 rows/s. early: split at the
// median of the rows recently written, 25,000/s each; spread: one half to shard 1. early splits the
// halves again, spread moves them to shards 2 and 3. Four changes, a second or two.
#pragma once

#include <optional>

#include "engine/balance/options.h"
#include "engine/balance/view.h"

namespace cellar::engine {

inline constexpr int64_t kPersistUs = 3'000'000;
// Smaller differences in load are noise; requests per second.
inline constexpr double kLeastLoadGap = 500;
// A tablet with less load is quiet.
inline constexpr double kQuietLoad = 50;
// Tolerated difference between the most and the least loaded shard, relative to the mean.
inline constexpr double kLoadTolerance = 0.25;
inline constexpr double kDataTolerance = 0.5;
// Smaller tablets are not split for load.
inline constexpr uint64_t kLeastSplitBytes = 256u << 10;

// One shard is much busier than another.
bool is_imbalanced(const BalanceView& view);

// Empty: no change is needed, or none is permitted now.
std::optional<Reshape> decide(const BalanceView& view, const BalanceOptions& options);

// A sampled row with about half of the samples before it and at least a tenth on either side; empty
// if one row is nearly all. Not the tablet's first row.
std::optional<std::string> load_median(const TabletLoad& tablet);

}  // namespace cellar::engine
