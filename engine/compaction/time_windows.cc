#include "engine/compaction/time_windows.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace cellar::engine {
namespace {

constexpr int64_t kWidest = std::numeric_limits<int64_t>::max();  // one for all times

// The number of the window of each run.
std::vector<int64_t> windows_of(std::span<const TimedRun> runs, int64_t window_us) {
  std::vector<int64_t> windows;
  int64_t window = 0;
  for (const TimedRun& run : runs) {
    if (run.middle_us) window = window_us == kWidest ? 0 : *run.middle_us / window_us;
    windows.push_back(window);
  }
  return windows;
}

class Best {
 public:
  Best(std::span<const TimedRun> runs, size_t most_removed)
      : runs_(runs), most_removed_(most_removed) {}
  // Considers all sequences of neighbours in [first, end).
  void offer(size_t first, size_t end, double weight) {
    for (size_t from = first; from + 1 < end; ++from) {
      auto bytes = static_cast<double>(runs_[from].bytes);
      for (size_t last = from + 1; last < end && last - from <= most_removed_; ++last) {
        bytes += static_cast<double>(runs_[last].bytes);
        const auto removed = static_cast<double>(last - from);
        const double cost = weight * bytes / (removed * removed);
        if (best_ && cost >= cost_) continue;
        best_ = {from, last - from + 1};
        cost_ = cost;
      }
    }
  }
  const std::optional<RunWindow>& get() const { return best_; }

 private:
  std::span<const TimedRun> runs_;
  size_t most_removed_;
  std::optional<RunWindow> best_;
  double cost_ = 0;
};

std::optional<RunWindow> pick_in_windows(std::span<const TimedRun> runs, int64_t window_us,
                                         size_t most_removed) {
  const std::vector<int64_t> windows = windows_of(runs, window_us);
  const auto [oldest, newest] = std::minmax_element(windows.begin(), windows.end());
  Best best(runs, most_removed);
  for (size_t first = 0; first < runs.size();) {
    size_t end = first + 1;
    while (end < runs.size() && windows[end] == windows[first]) ++end;
    const double left = static_cast<double>(windows[first] - *oldest) + 1;
    best.offer(first, end, (windows[first] == *newest ? kOpenCost : 1) / left);
    first = end;
  }
  return best.get();
}

}  // namespace

size_t allowed_time_runs(uint64_t bytes, uint64_t least_run_bytes, size_t tiered, size_t width) {
  const uint64_t worth = bytes / std::max<uint64_t>(least_run_bytes, 1);
  const size_t most = std::min<uint64_t>(std::max<uint64_t>(worth, tiered), kMostTimeRuns);
  return std::min(most, std::max(width, kLeastRuns));
}

int64_t time_window_us(int64_t age_us, size_t allowed) {
  const size_t windows = std::clamp<size_t>(allowed / 4, 1, kMostWindows);
  return std::max<int64_t>(age_us / static_cast<int64_t>(windows), 1);
}

std::optional<RunWindow> pick_time_merge(std::span<const TimedRun> runs, int64_t window_us,
                                         size_t allowed, size_t width) {
  if (runs.size() <= std::max<size_t>(allowed, 1)) return std::nullopt;
  const size_t most_removed = std::max(width, kLeastWidth) - 1;
  while (true) {
    if (const auto picked = pick_in_windows(runs, window_us, most_removed)) return picked;
    if (window_us == kWidest) return std::nullopt;
    window_us = window_us > kWidest / 2 ? kWidest : window_us * 2;
  }
}

}  // namespace cellar::engine
