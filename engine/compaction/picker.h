// Picker: which runs of a tablet to merge next. A pure function of their sizes.
//
// A tablet's runs are ordered by age and only neighbours may be merged, so that "newer run, later
// commits" stays true. Two costs pull against each other: every read looks into every run, and
// every merge writes its runs again. The number of runs allowed grows slowly with the spread of
// sizes (kBaseRuns plus half its binary logarithm, at most kMaxRuns), and when there are more, the
// window of neighbours is merged for which
//
//     bytes of the window / (runs it removes)^2
//
// is least: cheap windows first, and rather one wide merge than several narrow ones. Under flushes
// of one size this behaves like binomial merging; simulated over 10,000 flushes it writes each byte
// five to six times, the flush included (see the test).
//
// A scan and a merge hold a block of every run, so where blocks are very large (one holds at least
// one whole cell) memory bounds how many runs there may be: the `width`.
//
// Example, sizes oldest first, limit 8 + 3: 4096 600 580 70 66 64 64 64 64 64 64 64: the last nine
// (584 bytes, eight runs fewer) are merged, not the pair 600 580.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace cellar::engine {

inline constexpr size_t kBaseRuns = 8;
inline constexpr size_t kMaxRuns = 18;
inline constexpr size_t kLeastWidth = 2;
inline constexpr size_t kLeastRuns = 4;  // allowed however narrow

// How many runs may be open at once when `block_bytes` is the largest block in them and all may
// hold `memory_bytes`; at least kLeastWidth.
size_t width_within(size_t memory_bytes, size_t block_bytes);

// Runs [first, first + count) of the list that was asked about; count >= 2.
struct RunWindow {
  size_t first = 0;
  size_t count = 0;
};

// How many runs of these sizes may stand before a merge is due.
size_t allowed_runs(std::span<const uint64_t> run_bytes, size_t width = kMaxRuns);

// `run_bytes` oldest first. Nothing when no merge is due. At most `width` runs are merged, but two
// always may.
std::optional<RunWindow> pick_merge(std::span<const uint64_t> run_bytes, size_t width = SIZE_MAX);

}  // namespace cellar::engine
