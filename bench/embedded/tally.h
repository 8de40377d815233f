// The measurements of a driver. Times are in tenths of a microsecond; the histogram keeps them up
// to six seconds (and the longest exactly).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/embedded/stages.h"
#include "io/base/histogram.h"

namespace cellar::bench {

inline int64_t steady_ns() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

struct Tally {
  static constexpr int64_t kLongNs = 100'000'000;

  int64_t began_ns = 0;
  int64_t ended_ns = 0;
  Histogram latency;
  uint64_t operations = 0;
  uint64_t cells = 0;    // returned by reads
  uint64_t refused = 0;  // refusals, each followed by another attempt
  std::string first_refusal;
  uint64_t long_ones = 0;
  std::array<uint64_t, kStageNames.size()> long_by_stage{};  // by the stage with most of their time
  int64_t longest_ns = 0;
  StageTimes longest{};
  std::vector<uint64_t> per_second;

  void begin() { began_ns = ended_ns = steady_ns(); }
  void add(int64_t from_ns, int64_t now_ns) {
    ended_ns = now_ns;
    ++operations;
    latency.record(static_cast<uint64_t>(now_ns - from_ns) / 100);
    if (now_ns - from_ns > kLongNs) ++long_ones;
    const auto second = static_cast<size_t>((now_ns - began_ns) / 1'000'000'000);
    if (second >= per_second.size()) per_second.resize(second + 1);
    ++per_second[second];
  }
  // Whether a write is long, or the longest so far: its stages are recorded.
  bool wants_stages(int64_t took_ns) const { return took_ns > kLongNs || took_ns > longest_ns; }
  void add_stages(int64_t took_ns, const StageTimes& times) {
    if (took_ns > kLongNs) ++long_by_stage[static_cast<size_t>(longest_stage(times))];
    if (took_ns <= longest_ns) return;
    longest_ns = took_ns;
    longest = times;
  }
  // Adds the tally of another shard, which began at the same time.
  void merge(const Tally& other) {
    began_ns = began_ns == 0 ? other.began_ns : std::min(began_ns, other.began_ns);
    ended_ns = std::max(ended_ns, other.ended_ns);
    latency.merge(other.latency);
    operations += other.operations;
    cells += other.cells;
    refused += other.refused;
    if (first_refusal.empty()) first_refusal = other.first_refusal;
    long_ones += other.long_ones;
    for (size_t i = 0; i < long_by_stage.size(); ++i) long_by_stage[i] += other.long_by_stage[i];
    if (other.longest_ns > longest_ns) longest = other.longest;
    longest_ns = std::max(longest_ns, other.longest_ns);
    if (per_second.size() < other.per_second.size()) per_second.resize(other.per_second.size());
    for (size_t i = 0; i < other.per_second.size(); ++i) per_second[i] += other.per_second[i];
  }
  double seconds() const { return static_cast<double>(ended_ns - began_ns) / 1e9; }
};

}  // namespace cellar::bench
