// ShardModel: one shard of a large node, as the sizes and times of its contents, without the data:
// tablets, their runs, flushes, merges for the shape of the tree and reclaiming, on a virtual
// clock. The engine's own pickers choose the merges (engine/compaction/picker.h, time_windows.h),
// and its own queue the start of reclaiming (reclaim_queue.h).
//
// Shards are alike and share nothing but the devices, so a node of 64 cores is 64 of these with a
// 64th of the devices each.
//
// Simplifications:
//   - writes are spread evenly over tablets, and the tablet with the largest memtable is flushed; a
//     tablet's live bytes do not change;
//   - overwriting: a run is a random set of the tablet's cells, so two runs of a and b bytes of a
//     tablet of L have a * b / L in common, of which the older copy is dead;
//   - ageing: nothing is overwritten, and times of writing are spread evenly between a run's first
//     and last;
//   - a job takes as long as the slowest of reading, merging and writing, at the device's rate less
//     that of the log and the flushes; jobs for the shape and for reclaiming run concurrently, one
//     of each, and reclaiming works for the share of time that its queue gives, and writes at most
//     reclaim_share of the device's rate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "engine/compaction/picker.h"

namespace cellar::simulate {

// The share of the machine of one shard, in bytes a second.
struct Machine {
  double read_rate = 625e6;
  double write_rate = 250e6;
  double merge_rate = 200e6;  // of one core, bytes read (bench/COST_MODEL.md)
};

struct Load {
  enum class Kind : uint8_t { overwrites, ages };
  Kind kind = Kind::overwrites;
  double live_bytes = 469e9;
  double ingest = 5e6;    // bytes a second, compressed
  double age_s = 86'400;  // ages: the lifetime of a cell
};

struct Policy {
  double tablet_bytes = 1 << 30;  // size at which it is split
  double flush_bytes = 32 << 20;
  double reclaim_within_s = 3600;
  double dead_slack = 0.1;      // of a tablet's live bytes
  double reclaim_share = 0.25;  // of the device's write rate; 0: no reclaiming
  double margin_s = 300;
  bool windows = false;  // ages: merges by time windows instead of by size
};

// Over the second half of the simulated time.
struct Outcome {
  double ingested = 0;
  double flushed = 0;
  double merged = 0;     // written by merges for the shape
  double reclaimed = 0;  // written by reclaiming
  double merge_read = 0;
  double space = 0;         // on disk over live bytes, mean
  double most_overdue = 0;  // over live bytes, maximum over time, of the shard
  double worst_tablet = 0;  // over live bytes, maximum over time and tablets
  double latest_s = 0;  // the longest time beyond reclaim_within of the oldest cell over the slack
  double runs = 0;      // per tablet, mean
  size_t most_runs = 0;
  size_t backlog = 0;   // tablets that wait for a merge at the end
  double worked_s = 0;  // time spent merging and reclaiming
  double time_s = 0;

  double write_amplification() const { return (flushed + merged + reclaimed) / ingested; }
};

class ShardModel {
 public:
  ShardModel(const Machine& machine, const Load& load, const Policy& policy);

  // Runs until the live bytes have been written `turns` times.
  Outcome run(double turns);

 private:
  // Cells written evenly between two times.
  struct Run {
    double bytes;
    double from_s;
    double to_s;
  };
  struct Tablet {
    std::vector<Run> runs;  // oldest first
    double flushed_s = 0;   // beginning of its memtable
    // When more will be overdue than the slack allows; negative: unknown.
    double deadline_s = -1;
  };
  struct Dead {
    double bytes = 0;    // dead
    double overdue = 0;  // dead for longer than allowed
  };
  struct Job {
    bool running = false;
    double ends_s = 0;
    double read = 0;
    double written = 0;
    size_t tablet = 0;
    size_t first = 0;
    size_t count = 0;
    Run result{};
  };

  void flush();
  void begin_merge();
  void begin_reclaim();
  // Sets the tablet that is next at `next_reclaim_s_`, and its share.
  void plan_reclaim();
  void reclaim(size_t tablet, double share);
  double overdue_at(const Tablet& tablet, double at_s) const;
  double deadline_of(Tablet& tablet) const;
  void begin(Job& job, size_t tablet, size_t first, size_t count, double share, double write_part);
  void flush(size_t tablet);
  void finish(Job& job, double& written);
  bool is_free(size_t tablet) const;
  std::optional<engine::RunWindow> pick(const Tablet& tablet) const;
  Run merged(const Tablet& tablet, size_t first, size_t count) const;
  // For run `i`, at `at_s`.
  double dead_by(const Tablet& tablet, size_t i, double at_s) const;
  Dead dead_of(const Tablet& tablet, size_t i) const;
  void drop_dead_runs();
  void look();

  const Machine machine_;
  const Load load_;
  const Policy policy_;
  const double live_;  // bytes of a tablet
  std::vector<Tablet> tablets_;
  std::set<size_t> waiting_;  // tablets that wait for a merge
  double now_s_ = 0;
  bool measuring_ = false;
  Job merge_;
  Job reclaim_;
  double next_reclaim_s_ = 0;
  size_t next_reclaimed_ = 0;
  double next_share_ = 0;
  Outcome sum_;
  size_t looks_ = 0;
};

}  // namespace cellar::simulate
