// Probe: point reads on one shard that are due on a fixed schedule, like requests from a network:
// the kernel wakes the loop for each. A read's time counts from its due time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include <boost/asio/posix/stream_descriptor.hpp>

#include "bench/embedded/bed.h"
#include "bench/embedded/tally.h"

namespace cellar::bench {

// On one shard; created, run and destroyed there.
class Probe {
 public:
  // Makes `rate` reads a second of random rows, which are in the cache.
  Probe(Shard& shard, Bed& bed, double rate, uint64_t seed);

  // Runs until `stop` is true.
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
