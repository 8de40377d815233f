// The decision how tablets should be changed next: a pure function of what is known.
//
// The rules, the first that wants something wins:
//   size    a tablet with split_bytes is cut in half by bytes.
//   early   a table with fewer tablets than shards, with early_split_bytes or early_split_load, is
//           cut: its heaviest tablet, by load where there is any.
//   spread  such a table has two tablets on one shard and none on another: one moves there, unless
//           that would make the other shard the busier one.
//   load    for kPersistUs one shard has been busier than another by a quarter of the mean: the
//           tablet moves whose load is nearest to half of the difference. Where none can, since one
//           tablet carries nearly all of it, that tablet is cut where half of its requests lie on
//           either side; its parts move next.
//   data    nobody is busy there, but one shard holds much more than another: a quiet tablet moves.
//   merge   a tablet whose data is gone is merged with a neighbour after merge_idle_us. Tablets
//           that never held data (a table was made with splits) are left alone.
//
// What keeps them from undoing one another: a tablet that moved stays where it is for a while
// (LoadBook::kRestUs); a move
// for load leaves its target less busy than its source was, and a move for spread or data never
// makes a shard the busiest; data does not move the only tablet that a table has on a shard to one
// that has one; a merge waits where the early rule would cut again.
//
// Example: 4 shards, one table of one tablet, 40 MiB loaded at 50,000 rows/s. early: cut at the
// median of the rows lately written, 25,000/s each; spread: one half to shard 1. early cuts the
// halves again, spread moves them to shards 2 and 3. Four reshapes, a second or two.
#pragma once

#include <optional>

#include "engine/balance/options.h"
#include "engine/balance/view.h"

namespace cellar::engine {

inline constexpr int64_t kPersistUs = 3'000'000;
// Differences in load below this are noise; requests a second.
inline constexpr double kLeastLoadGap = 500;
// A tablet with less is quiet.
inline constexpr double kQuietLoad = 50;
// Shares of the mean over the shards by which the most and the least may differ.
inline constexpr double kLoadTolerance = 0.25;
inline constexpr double kDataTolerance = 0.5;
// Cutting a tablet smaller than this for its load is not worth a tablet.
inline constexpr uint64_t kLeastSplitBytes = 256u << 10;

// One shard is much busier than another.
bool is_imbalanced(const BalanceView& view);

// None: all is well, or nothing may be done now.
std::optional<Reshape> decide(const BalanceView& view, const BalanceOptions& options);

// A row of the samples with about half of them before it, and at least a tenth on either side; none
// where one row is nearly all. Not the tablet's first row.
std::optional<std::string> load_median(const TabletLoad& tablet);

}  // namespace cellar::engine
