#include "engine/tablet/run_shapes.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "engine/compaction/picker.h"

namespace cellar::engine {
namespace {

// Runs that are smaller than a full memtable by this factor, on average, are not worth a file each.
constexpr uint64_t kLeastPart = 64;

uint64_t bytes_of(const TabletRun& run) {
  uint64_t bytes = 0;
  for (const Ref<TabletTable>& table : run.tables) bytes += table->slice().bytes();
  return bytes;
}

RunTimes times_of(const TabletRun& run) {
  RunTimes times;
  for (const Ref<TabletTable>& table : run.tables) {
    times.add(table->meta().profile, table->meta().bounds, table->slice().bytes());
  }
  return times;
}

size_t allowed_of(const std::vector<TabletRun>& runs, bool by_windows, const EngineOptions& options,
                  size_t width) {
  std::vector<uint64_t> bytes;
  for (const TabletRun& run : runs) bytes.push_back(bytes_of(run));
  const size_t tiered = allowed_runs(bytes, width);
  if (!by_windows) return tiered;
  const uint64_t all = std::accumulate(bytes.begin(), bytes.end(), uint64_t{0});
  return allowed_time_runs(all, options.memtable_bytes / kLeastPart, tiered, width);
}

std::optional<RunWindow> pick_among(const RunShapes& shapes, std::span<const TimedRun> runs) {
  if (shapes.window_us != 0) {
    return pick_time_merge(runs, shapes.window_us, shapes.allowed, shapes.width);
  }
  std::vector<uint64_t> bytes;
  for (const TimedRun& run : runs) bytes.push_back(run.bytes);
  return pick_merge(bytes, shapes.width);
}

}  // namespace

Compaction compaction_of(const SchemaSnapshot& schema, const std::vector<TabletRun>& runs,
                         Compaction present) {
  const auto ages = fatal_ages(schema.retention);
  std::optional<double> late;
  if (ages && schema.value.options.compaction == Compaction::automatic) {
    std::vector<RunTimes> times;
    for (auto run = runs.rbegin(); run != runs.rend(); ++run) times.push_back(times_of(*run));
    late = late_share(times, ages->shortest_us);
  }
  return choose_compaction(schema.value, ages, late, present);
}

RunShapes run_shapes(const SchemaSnapshot& schema, const std::vector<TabletRun>& runs,
                     Compaction compaction, const EngineOptions& options, size_t blocks_bytes) {
  RunShapes shapes;
  const auto ages = fatal_ages(schema.retention);
  const bool by_windows = compaction == Compaction::time_window && ages;
  size_t largest_block = 0;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    bool damaged = false;
    for (const Ref<TabletTable>& table : run->tables) {
      damaged = damaged || table->is_damaged();
      largest_block = std::max<size_t>(largest_block, table->slice().table().most_raw_bytes());
    }
    TimedRun& shape = shapes.runs.emplace_back();
    shape.bytes = bytes_of(*run);
    if (by_windows) shape.middle_us = times_of(*run).middle_us();
    shapes.damaged.push_back(damaged);
  }
  shapes.width = width_within(blocks_bytes, largest_block);
  shapes.allowed = allowed_of(runs, by_windows, options, shapes.width);
  if (by_windows) shapes.window_us = time_window_us(ages->longest_us, shapes.allowed);
  return shapes;
}

size_t runs_behind(const std::vector<TabletRun>& runs, Compaction compaction,
                   const EngineOptions& options) {
  const bool by_windows = compaction == Compaction::time_window;
  const size_t allowed = allowed_of(runs, by_windows, options, kMostTimeRuns);
  return runs.size() > allowed ? runs.size() - allowed : 0;
}

std::optional<RunWindow> pick_merge_of(const RunShapes& shapes) {
  const std::span<const TimedRun> all = shapes.runs;
  for (size_t first = 0; first < all.size();) {
    size_t end = first;
    while (end < all.size() && !shapes.damaged[end]) ++end;
    if (auto window = pick_among(shapes, all.subspan(first, end - first))) {
      window->first += first;
      return window;
    }
    first = end + 1;
  }
  return std::nullopt;
}

}  // namespace cellar::engine
