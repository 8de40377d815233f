// Time windows: which runs to merge where data comes in the order of its time and dies by age.
//
// Such data needs hardly any merging. Every flush holds a stretch of time of its own, a read of
// some stretch looks into few runs, and the oldest run dies as a whole and is taken away unread
// (engine/gc/reclaim.h): each byte is written once. What merging is still for is to bound how many
// runs there are. So nothing is merged while there are at most kMostTimeRuns, and then only what
// lies in one window of time, so that what is merged dies together:
//
//   1. A run belongs to the window in which the middle byte of its cells lies, by timestamp. A few
//      late or early cells move neither it nor the windows of others.
//   2. Merged are neighbours of one window; of all that are, those with the least
//
//          bytes / (runs removed^2 x windows that it still has to live)
//
//      because the oldest windows are about to give back their runs for nothing. A merge in the
//      window that is still being written counts as kOpenCost times as dear: when it is closed, the
//      same bytes are merged again.
//   3. Where no window has two neighbours, windows are taken twice as wide until one has. So data
//      out of order is merged like any other in the end, and always something is found.
//
// A window is the age over a quarter of the runs allowed, at most kMostWindows to an age: that
// leaves three quarters of the runs for what is not merged. What that costs, for a table of which N
// flushes live at a time: up to 128 nothing (each byte is written once), at 200 less
// than half of the bytes are merged once, at 230 a little more than half, at 1,000 nearly all.
//
// Small runs are not worth a file each: where runs are smaller on average than `least_run_bytes`,
// fewer are allowed, down to what tiered merging allows.
//
// Correctness does not depend on any of this: any neighbours may be merged, and no merge is needed
// for a right answer. Deletes, overwrites and cells that are late by days are reclaim's to collect,
// when they are overdue.
//
// Example, age 32 h, 129 runs, windows of 1 h: ... [8 runs of hour 29] [8 of hour 30] [3 of hour
// 31]: hour 30 is merged into one run: the youngest that is closed.
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
  // Half of its bytes have older timestamps. None: it has no cells, or nothing is known; then it
  // goes with the run before.
  std::optional<int64_t> middle_us;
};

// How many runs of so many bytes together may stand. `tiered` is what allowed_runs() says,
// `width` as there.
size_t allowed_time_runs(uint64_t bytes, uint64_t least_run_bytes, size_t tiered, size_t width);

// How wide a window is, at least 1. REQUIRES: age_us > 0.
int64_t time_window_us(int64_t age_us, size_t allowed);

// `runs` oldest first. Nothing when no more than `allowed` stand. At most `width` runs are merged,
// but two always may.
std::optional<RunWindow> pick_time_merge(std::span<const TimedRun> runs, int64_t window_us,
                                         size_t allowed, size_t width = SIZE_MAX);

}  // namespace cellar::engine
