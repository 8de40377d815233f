// FlowWatch: samples once a second the work and the pressures of each shard, to explain slow
// seconds: bytes flushed and merged, pending runs, memtables, the log.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <boost/json/object.hpp>

#include "bench/embedded/bed.h"

namespace cellar::bench {

// Samples from its construction to report(), which is called once.
class FlowWatch {
 public:
  explicit FlowWatch(Bed& bed);

  // Adds "shards": for each shard an object of arrays, one element per second.
  void report(boost::json::object& out);

 private:
  static constexpr int kEveryMs = 1000;
  // The figures at the end of a second.
  struct Look {
    uint64_t runs_behind = 0;
    double runs = 0;  // pressures, as in FlowFigures
    double memtables = 0;
    double log = 0;
    uint64_t flushed_bytes = 0;  // so far
    uint64_t merged_bytes = 0;
    uint64_t held = 0;
  };

  void look();

  Bed& bed_;
  std::vector<std::vector<Look>> looks_;  // by shard
  std::atomic<bool> over_ = false;
  std::jthread thread_;
};

}  // namespace cellar::bench
