// Recorder: measurements of a run, by operation and by interval.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "bench/load/workload.h"
#include "io/base/histogram.h"

namespace cellar::bench {

// When the run begins, measures and ends, by the steady clock.
struct RunTimes {
  int64_t begin_ns = 0;
  int64_t measure_from_ns = 0;
  int64_t stop_at_ns = INT64_MAX;
};

struct OperationStats {
  Histogram latency;  // of successful operations, in nanoseconds
  uint64_t failed = 0;
  uint64_t missing = 0;  // reads and scans that found no row
  uint64_t rows = 0;     // that reads and scans found

  uint64_t completed() const { return latency.count(); }
  void merge(const OperationStats& other);
};
using Slice = std::array<OperationStats, kOperations>;
void merge_into(Slice& to, const Slice& from);
// The latencies of all operations together.
Histogram all_latencies(const Slice& slice);

// The summary of one interval.
struct Interval {
  struct Figures {
    uint64_t completed = 0;
    uint64_t failed = 0;
    uint64_t p50_ns = 0;
    uint64_t p99_ns = 0;
    uint64_t p999_ns = 0;
    uint64_t max_ns = 0;
    std::string encoded;  // encode_hdr(), if wanted
  };
  double at_s = 0;  // since measuring began
  double length_s = 0;
  std::array<Figures, kOperations> operations;
  Figures all;
};

// Collects the slices of several threads and summarises them by interval, so that memory does not
// grow with histograms. Any thread.
class Timeline {
 public:
  Timeline(int64_t interval_ns, bool encodes) : interval_ns_(interval_ns), encodes_(encodes) {}

  int64_t interval_ns() const { return interval_ns_; }
  void deliver(uint64_t interval, Slice slice);
  // Summarises the intervals before `end`. A slice that arrives later counts in the next one.
  void settle(uint64_t end);
  // The last summarised interval; false: none yet. A copy.
  bool last(Interval& out) const;

  // ---- after the last deliver() ----
  // Summarises the rest. `elapsed_ns` is the length of the whole.
  void finish(int64_t elapsed_ns);
  const std::vector<Interval>& intervals() const { return intervals_; }
  const Slice& total() const { return total_; }

 private:
  void summarise(uint64_t interval, const Slice& slice);

  const int64_t interval_ns_;
  const bool encodes_;
  mutable std::mutex mutex_;
  std::map<uint64_t, Slice> open_;
  uint64_t settled_ = 0;
  std::vector<Interval> intervals_;
  Slice total_;
};

// The recorder of one thread. Both arguments outlive it.
class Recorder {
 public:
  Recorder(Timeline& timeline, const RunTimes& times) : timeline_(timeline), times_(times) {}

  void completed(Operation operation, int64_t now_ns, int64_t latency_ns, uint64_t rows);
  void failed(Operation operation, int64_t now_ns);
  // Delivers what has been recorded.
  void flush();
  uint64_t completed() const { return completed_; }

 private:
  OperationStats& stats(Operation operation, int64_t now_ns);

  Timeline& timeline_;
  const RunTimes& times_;
  uint64_t interval_ = 0;
  Slice slice_;
  uint64_t completed_ = 0;
};

}  // namespace cellar::bench
