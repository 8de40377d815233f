// Probe: point reads of one shard that are due on a fixed schedule, as requests come over a
// network: the kernel wakes the loop for each. A read's time counts from when it was due.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include <boost/asio/posix/stream_descriptor.hpp>

#include "bench/embedded/bed.h"
#include "bench/embedded/tally.h"

namespace cellar::bench {

// One shard; made, run and destroyed on it.
class Probe {
 public:
  // So many reads a second of random rows, which are in the cache.
  Probe(Shard& shard, Bed& bed, double rate, uint64_t seed);

  // Until `stop` is true.
  Async<void> run(const std::atomic<bool>& stop);
  const Tally& tally() const { return tally_; }

 private:
  void read();

  engine::Engine& engine_;
  const std::vector<RowRange>& ranges_;
  const int64_t interval_ns_;
  Random random_;
  asio::posix::basic_stream_descriptor<ShardExecutor> alarm_;
  Tally tally_;
};

}  // namespace cellar::bench
