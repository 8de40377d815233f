#include "engine/compaction/picker.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace cellar::engine {

size_t width_within(size_t memory_bytes, size_t block_bytes) {
  return std::max(memory_bytes / std::max<size_t>(block_bytes, 1), kLeastWidth);
}

size_t allowed_runs(std::span<const uint64_t> run_bytes, size_t width) {
  if (run_bytes.empty()) return kBaseRuns;
  const uint64_t total = std::accumulate(run_bytes.begin(), run_bytes.end(), uint64_t{0});
  const uint64_t least =
      std::max<uint64_t>(*std::min_element(run_bytes.begin(), run_bytes.end()), 1);
  const size_t spread = static_cast<size_t>(std::bit_width(total / least));
  return std::min(
      {kBaseRuns + (spread > 0 ? spread - 1 : 0) / 2, kMaxRuns, std::max(width, kLeastRuns)});
}

std::optional<RunWindow> pick_merge(std::span<const uint64_t> run_bytes, size_t width) {
  if (run_bytes.size() <= allowed_runs(run_bytes, width)) return std::nullopt;
  const size_t most_removed = std::max(width, kLeastWidth) - 1;
  RunWindow best;
  double best_cost = 0;
  for (size_t first = 0; first < run_bytes.size(); ++first) {
    auto bytes = static_cast<double>(run_bytes[first]);
    for (size_t last = first + 1; last < run_bytes.size() && last - first <= most_removed; ++last) {
      bytes += static_cast<double>(run_bytes[last]);
      const auto removed = static_cast<double>(last - first);
      const double cost = bytes / (removed * removed);
      if (best.count != 0 && cost >= best_cost) continue;
      best = {first, last - first + 1};
      best_cost = cost;
    }
  }
  return best;
}

}  // namespace cellar::engine
