// Time windows: selects the runs to merge if data comes in time order and expires by age.
//
// Such data needs hardly any merging. Every flush covers its own stretch of time, a read of a
// stretch visits few runs, and the oldest run dies as a whole and is removed unread
// (engine/gc/reclaim.h): each byte is written once. Merging only bounds the number of runs. Nothing
// is merged while there are at most kMostTimeRuns, and then only runs in one window of time, so
// that what is merged dies together:
//
//   1. A run belongs to the window of the middle byte of its cells, by timestamp. A few late or
//      early cells move neither it nor the windows of others.
//   2. Neighbours of one window are merged; among all of these, those with the least
//
//          bytes / (runs removed^2 x windows that it still has to live)
//
//      because the oldest windows are about to free their runs without a merge. A merge in the
//      window still being written counts as kOpenCost times as expensive: when it is closed, the
//      same bytes are merged again.
//   3. If no window has two neighbours, windows are doubled until one has. Data out of order is
//      thus eventually merged like any other, and there is always a result.
//
// A window is the age divided by a quarter of the runs allowed, at most kMostWindows per age: that
// leaves three quarters of the runs for unmerged ones. The cost, for a table with N flushes alive
// at a time: up to 128 nothing (each byte is written once), at 200 less than half of the bytes are
// merged once, at 230 a little more than half, at 1,000 nearly all.
//
// Small runs are not worth a file each: if runs are smaller on average than `least_run_bytes`,
// fewer are allowed, down to the number that tiered merging allows.
//
// Correctness does not depend on this: any neighbours may be merged, and no merge is needed for a
// correct answer. Deletes, overwrites and cells that are late by days are collected by gc once
// overdue.
//
// Example, age 32 h, 129 runs, windows of 1 h: ... [8 runs of hour 29] [8 of hour 30] [3 of hour
// 31]: hour 30 is merged into one run: the youngest closed window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/compaction/picker.h"

namespace cellar::engine {

inline constexpr size_t kMostTimeRuns = 128;
inline constexpr size_t kMostWindows = 32;
inline constexpr double kOpenCost = 4;

struct TimedRun {
  uint64_t bytes = 0;
  // Half of its bytes have older timestamps. Empty: no cells, or unknown; the run then belongs with
  // the previous one.
  std::optional<int64_t> middle_us;
};

// How many runs with that many bytes in total may exist. `tiered` is the result of
// allowed_runs(); `width` as there.
size_t allowed_time_runs(uint64_t bytes, uint64_t least_run_bytes, size_t tiered, size_t width);

// The width of a window, at least 1. REQUIRES: age_us > 0.
int64_t time_window_us(int64_t age_us, size_t allowed);

// `runs` oldest first. Empty if there are at most `allowed`. At most `width` runs are merged, but
// two always may be.
std::optional<RunWindow> pick_time_merge(std::span<const TimedRun> runs, int64_t window_us,
                                         size_t allowed, size_t width = SIZE_MAX);

}  // namespace cellar::engine
