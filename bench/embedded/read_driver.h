// ReadDriver: a number of readers on one shard, each with one read in progress: a point read of a
// random row, or a scan of several rows from a random one. A read's time counts from the end of the
// previous read, so it includes the wait for the shard's next turn.
#pragma once

#include <vector>

#include "bench/embedded/bed.h"
#include "bench/embedded/dataset.h"
#include "bench/embedded/tally.h"
#include "io/loop/event.h"

namespace cellar::bench {

struct ReadLoad {
  size_t readers = 1;
  uint32_t scan_rows = 0;   // 0: point reads
  bool from_start = false;  // scans begin at the first row of a range instead
  int64_t duration_ns = 10'000'000'000;
  uint64_t seed = 1;
};

// On one shard; created, run and destroyed there.
class ReadDriver {
 public:
  ReadDriver(Shard& shard, Bed& bed, const ReadLoad& load);

  // Resumes when the time is over and every read has completed.
  Async<void> run();
  const Tally& tally() const { return tally_; }

 private:
  Async<void> reader(uint64_t seed);
  // One read.
  Async<void> read(Random& random);
  bool over(int64_t now_ns) const { return now_ns - tally_.began_ns >= load_.duration_ns; }

  Shard& shard_;
  engine::Engine& engine_;
  const std::vector<RowRange>& ranges_;
  const ReadLoad load_;
  size_t running_ = 0;
  Event ended_;
  Tally tally_;
};

}  // namespace cellar::bench
