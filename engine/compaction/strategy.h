// Strategy: which of the two ways to merge is at work in a tablet: tiered (picker.h) or by
// windows of time (time_windows.h). A pure function of what the table is told, of its rules and of
// how its data has come so far.
//
// A table may name one. Automatic takes windows where both of these hold:
//   - every family dies by age alone (a max_age, or one in a union at the top), timestamps are
//   times,
//     and the longest of these ages is at most kMostAgeSpread times the shortest: a run lives as
//     long as the last of its cells;
//   - data comes mostly in the order of its time: of the bytes on disk at most kMostLate are late.
//     Late is a cell that is older, by more than 1/kLateParts of the age, than the middle of what
//     had come before it; one with an expiry of its own counts as late, for it dies at its own
//     time.
// A tablet that works by windows goes back only when more than kTooLate are late, so it does not
// change its mind with every flush; one that has not enough runs to tell stays as it is. Nothing is
// remembered over a restart: what lies on disk tells it again, and the first look takes the laxer
// bound, so that a restart does not set off a merge of everything.
//
// Windows that are named for a table in which some family never dies by age alone would have no
// width: such a tablet is tiered.
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

// The ages at which cells die whatever else; absent where some family has none.
struct FatalAges {
  int64_t shortest_us = 0;
  int64_t longest_us = 0;
};
std::optional<FatalAges> fatal_ages(const TableRetention& retention);

// Timestamps of a run, from the profiles of its tables.
class RunTimes {
 public:
  // Of a table, or of the part of one, that takes so many bytes on disk.
  void add(const CellProfile& profile, const TimeBounds& bounds, uint64_t bytes);
  // Half of what has timestamps is older.
  std::optional<int64_t> middle_us() const;
  double bytes() const { return bytes_; }
  // With older timestamps, or of which none is known.
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

// The share of the bytes that came late, runs oldest first; absent while there are too few to tell.
std::optional<double> late_share(std::span<const RunTimes> runs, int64_t age_us);

// What is at work: tiered or time_window. `present`: what was so far; automatic: nothing yet.
Compaction choose_compaction(const TableSchema& schema, const std::optional<FatalAges>& ages,
                             std::optional<double> late, Compaction present);

}  // namespace cellar::engine
