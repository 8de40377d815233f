// Strategy: selects the way to merge a tablet's runs: tiered (picker.h) or by windows of time
// (time_windows.h). A pure function of the table's options, its rules and the order in which its
// data came.
//
// A table may name one. Automatic selects windows if both conditions hold:
//   - every family expires by age alone (a max_age, or one in a union at the top), timestamps are
//     times, and the longest of these ages is at most kMostAgeSpread times the shortest: a run
//     lives as long as the last of its cells;
//   - data comes mostly in time order: of the bytes on disk at most kMostLate are late. A cell is
//     late if it is older, by more than 1/kLateParts of the age, than the middle of what had come
//     before it; one with its own expiry counts as late, because it dies at its own time.
// A tablet that uses windows changes back only if more than kTooLate are late, so it does not
// change with every flush; one with too few runs to decide does not change. Nothing is stored over
// a restart: the decision is made again from the data on disk, and the first one uses the laxer
// bound, so that a restart does not trigger a merge of everything.
//
// If windows are named for a table with a family that never expires by age alone, they would have
// no width: such a tablet is tiered.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/compaction/time_windows.h"
#include "engine/iter/cell_profile.h"
#include "engine/iter/time_bounds.h"
#include "engine/model/schema.h"
#include "engine/retention/family_retention.h"

namespace cellar::engine {

inline constexpr double kMostLate = 0.1;
inline constexpr double kTooLate = 0.2;
inline constexpr int64_t kLateParts = 8;
inline constexpr int64_t kMostAgeSpread = 4;
inline constexpr size_t kLeastEvidence = 3;  // runs

// The ages at which cells die in any case; absent if some family has none.
struct FatalAges {
  int64_t shortest_us = 0;
  int64_t longest_us = 0;
};
std::optional<FatalAges> fatal_ages(const TableRetention& retention);

// Timestamps of a run, from the profiles of its tables.
class RunTimes {
 public:
  // Adds a table, or part of one, with that many bytes on disk.
  void add(const CellProfile& profile, const TimeBounds& bounds, uint64_t bytes);
  // Half of the bytes with timestamps are older.
  std::optional<int64_t> middle_us() const;
  double bytes() const { return bytes_; }
  // Bytes with older or unknown timestamps.
  double bytes_before(int64_t us) const;

 private:
  struct Piece {
    int64_t first_us;
    int64_t last_us;
    double bytes;
  };
  std::vector<Piece> pieces_;
  double bytes_ = 0;
  double timeless_ = 0;
};

// The share of bytes that came late, runs oldest first; empty if there are too few to decide.
std::optional<double> late_share(std::span<const RunTimes> runs, int64_t age_us);

// The strategy: tiered or time_window. `present`: the one used so far; automatic: none yet.
Compaction choose_compaction(const TableSchema& schema, const std::optional<FatalAges>& ages,
                             std::optional<double> late, Compaction present);

}  // namespace cellar::engine
