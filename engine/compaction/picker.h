// Picker: selects the runs of a tablet to merge next. A pure function of their sizes.
//
// A tablet's runs are ordered by age and only neighbours may be merged, so that a newer run always
// has later commits. There is a trade-off: every read visits every run, and every merge rewrites
// its runs. The number of runs allowed grows slowly with the spread of sizes (kBaseRuns plus half
// its binary logarithm, at most kMaxRuns). If there are more, the window of neighbours is merged
// for which
//
//     bytes of the window / (runs it removes)^2
//
// is least: cheap windows first, and rather one wide merge than several narrow ones. With flushes
// of equal size this behaves like binomial merging; simulated over 10,000 flushes it writes each
// byte five to six times, including the flush (see the test).
//
// A scan and a merge hold a block of every run, so if blocks are very large (a block has at least
// one whole cell) memory limits the number of runs: the `width`.
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
inline constexpr size_t kLeastRuns = 4;  // allowed whatever the width

// The number of runs that may be open at once if the largest block has `block_bytes` and all
// together may use `memory_bytes`; at least kLeastWidth.
size_t width_within(size_t memory_bytes, size_t block_bytes);

// Runs [first, first + count) of the list; count >= 2.
struct RunWindow {
  size_t first = 0;
  size_t count = 0;
};

// How many runs of these sizes may exist before a merge is due.
size_t allowed_runs(std::span<const uint64_t> run_bytes, size_t width = kMaxRuns);

// `run_bytes` oldest first. Empty if no merge is due. At most `width` runs are merged, but two
// always may be.
std::optional<RunWindow> pick_merge(std::span<const uint64_t> run_bytes, size_t width = SIZE_MAX);

}  // namespace cellar::engine
