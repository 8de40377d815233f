// Stages: the state of a shard over time, to attribute the latency of a slow write. A timeline,
// kept for kKeptNs; a fast write costs nothing.
//
//   turn       one turn of the loop took longer than kLongTurnNs: all requests waited for it
//   memtables  answers were held back, mainly because the memtables are nearly full,
//   log        because the log's disk lags,
//   runs       or because merging lags
//   elsewhere  nothing was held back: the disk (level sync), the client, the clock's tick
//   refused    from a refusal to the next attempt; a state of the write, not of the shard
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <string_view>

#include "engine/shard_figures.h"

namespace cellar::bench {

enum class Stage : uint8_t { turn, memtables, log, runs, elsewhere, refused };
inline constexpr std::array<std::string_view, 6> kStageNames = {"turn", "memtables", "log",
                                                                "runs", "elsewhere", "refused"};

// Nanoseconds by stage.
using StageTimes = std::array<int64_t, kStageNames.size()>;

inline Stage longest_stage(const StageTimes& times) {
  return static_cast<Stage>(std::max_element(times.begin(), times.end()) - times.begin());
}

class StageLine {
 public:
  static constexpr int64_t kKeptNs = 10'000'000'000;
  static constexpr int64_t kLongTurnNs = 5'000'000;
  static constexpr int64_t kLookEveryNs = 500'000;

  // Called after every turn of the loop; `slept`: the loop has slept since the last one.
  void turn(int64_t now_ns, bool slept, const engine::Engine& engine) {
    if (looked_ns_ == 0) looked_ns_ = turned_ns_ = now_ns;
    const bool is_long = !slept && now_ns - turned_ns_ > kLongTurnNs;
    if (is_long) {
      add(turned_ns_, state_);
      add(now_ns, Stage::turn);
    } else if (now_ns - looked_ns_ >= kLookEveryNs) {
      add(now_ns, state_);
    }
    if (is_long || now_ns - looked_ns_ >= kLookEveryNs) {
      state_ = state_of(engine.flow_figures());
      looked_ns_ = now_ns;
    }
    turned_ns_ = now_ns;
  }

  // Splits the time from `from_ns` to `now_ns` into stages; `refused_ns` of it between attempts.
  StageTimes of(int64_t from_ns, int64_t now_ns, int64_t refused_ns) const {
    StageTimes times{};
    int64_t end_ns = now_ns;
    int64_t part_ns = line_.empty() ? now_ns : std::max(line_.back().end_ns, from_ns);
    times[static_cast<size_t>(state_)] += std::max<int64_t>(end_ns - part_ns, 0);
    for (auto it = line_.rbegin(); it != line_.rend() && it->end_ns > from_ns; ++it) {
      end_ns = it->end_ns;
      part_ns = std::next(it) == line_.rend() ? from_ns : std::max(std::next(it)->end_ns, from_ns);
      times[static_cast<size_t>(it->stage)] += end_ns - part_ns;
    }
    times[static_cast<size_t>(Stage::refused)] = refused_ns;
    return times;
  }

 private:
  struct Part {
    int64_t end_ns;
    Stage stage;
  };

  static Stage state_of(const engine::FlowFigures& now) {
    const double most = std::max({now.memtables, now.log, now.runs});
    if (most <= 0) return Stage::elsewhere;
    if (now.log == most) return Stage::log;
    return now.memtables == most ? Stage::memtables : Stage::runs;
  }
  void add(int64_t end_ns, Stage stage) {
    if (!line_.empty() && line_.back().stage == stage) {
      line_.back().end_ns = end_ns;
    } else {
      line_.push_back({end_ns, stage});
    }
    while (line_.front().end_ns < end_ns - kKeptNs) line_.pop_front();
  }

  std::deque<Part> line_;
  Stage state_ = Stage::elsewhere;
  int64_t looked_ns_ = 0;
  int64_t turned_ns_ = 0;
};

}  // namespace cellar::bench
