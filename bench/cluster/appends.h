// Guarded appends over lanes: a lane is an object that takes one append at a time; its next segment
// begins after kSegmentBytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/cluster/cluster_bed.h"
#include "io/loop/event.h"
#include "tests/io/remote/guarded_lane.h"

namespace cellar::bench {

struct AppendFigures {
  double per_s = 0;
  double p50_us = 0;
  double p99_us = 0;
  double longest_us = 0;
  double client_cpu_us = 0;  // of an append
  double osd_cpu_us = 0;     // of an append, of all OSDs
  uint64_t appends = 0;
  uint64_t unknown = 0;  // outcomes
};

struct AppendLoad {
  int lanes = 1;
  size_t bytes = 4096;
  int writers = 1;  // each with one append in progress; they share the lanes in turn
  double seconds = 2;
  double warm_s = 0.3;  // before the figures
};

// An append counts from its writer's call to its answer, its wait for the lane included.
AppendFigures measure_appends(ClusterBed& bed, const AppendLoad& load);

// Milliseconds for fencing `lanes` lanes at once: a write that sets another session, then a read of
// the end.
double measure_fence_ms(ClusterBed& bed, int lanes);

}  // namespace cellar::bench
