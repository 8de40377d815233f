// Bed: a whole engine without a network, in a directory: a thread a shard, each with its ring, log
// and tables, as cellard has them. What runs on it is the drivers' business.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/embedded/turn_sampler.h"
#include "engine/node.h"
#include "engine/node/reclaim_report.h"
#include "engine/shard/shard_figures.h"
#include "engine/store/local_stores.h"
#include "io/base/clock.h"
#include "io/disk/backend.h"
#include "io/loop/shard_pool.h"
#include "io/loop/stall_watch.h"

namespace cellar::bench {

// A stretch of row numbers that one tablet holds.
struct RowRange {
  engine::TabletDescriptor tablet;
  uint64_t first = 0;
  uint64_t end = 0;
};

struct BedOptions {
  std::string directory;
  uint32_t shards = 2;
  uint32_t tablets_per_shard = 1;
  uint64_t rows = 1'000'000;
  bool existing = false;  // the directory holds a table of so many rows already
  int max_versions = 1;   // what an overwrite leaves; 0: everything is kept
  int64_t reclaim_within_us = 3'600'000'000;
  int64_t long_turn_us = 0;           // above which turns are sampled; 0: they are not
  std::optional<RetentionRule> rule;  // in place of max_versions
  Compaction compaction = Compaction::automatic;
  BottomCompression bottom_compression = BottomCompression::same;  // what is beside it has LZ4
  const Clock* clock = nullptr;  // outlives the bed; null: the system's
  engine::EngineOptions engine;
};

// Made and destroyed by one thread, which is none of the shards. What fails ends the process with a
// sentence.
class Bed {
 public:
  static constexpr const char* kTable = "bench";

  explicit Bed(BedOptions options);
  ~Bed();  // flushes and closes
  Bed(const Bed&) = delete;
  Bed& operator=(const Bed&) = delete;

  uint32_t shards() const { return options_.shards; }
  ShardPool& pool() { return pool_; }
  engine::Node& node() { return *node_; }
  // The stretches that a shard serves, in order.
  const std::vector<RowRange>& ranges_of(ShardId shard) const { return ranges_[shard.value()]; }
  // Another table like the first, with its stretches of each shard.
  std::vector<std::vector<RowRange>> add_table(const std::string& name);

  void flush(const std::string& table = kTable);
  // Everything into one run a tablet.
  void compact(const std::string& table = kTable);
  // Waits until no merge is due, as far as can be seen from outside.
  void settle();
  engine::EngineStats stats();      // of all shards together
  engine::ShardFigures figures();   // likewise, of the cache and the device
  int64_t longest_turn_us();        // of a shard's loop, so far; what is below 5 ms counts as 0
  engine::ReclaimReport reclaim();  // how far behind reclaiming is
  // What made turns longer than long_turn_us, so far: counts and lines for people.
  std::string turn_report();

 private:
  struct ShardState {
    std::unique_ptr<FileSystem> fs;
    std::optional<Runtime> runtime;
    std::unique_ptr<engine::LogStore> logs;
    std::unique_ptr<engine::BlobStore> blobs;
    std::unique_ptr<StallWatch> stalls;
    std::unique_ptr<TurnSampler> sampler;
  };

  ShardState& state(const Shard& shard) { return states_[shard.id().value()]; }
  void on_first(const ShardPool::Work& work) { pool_.run_on(ShardId{0}, work); }
  void open_disk();
  void open_node();
  Async<void> open_engine(Shard& shard);
  Async<void> make_table();
  std::vector<std::vector<RowRange>> find_ranges(const engine::TableEntry& table) const;

  const BedOptions options_;
  const SystemClock system_clock_;
  const Clock& clock_;
  ShardPool pool_;
  BlockingPool blocking_;
  std::vector<ShardState> states_;
  std::unique_ptr<engine::ManifestStore> manifest_;
  std::unique_ptr<engine::Node> node_;
  std::vector<std::vector<RowRange>> ranges_;
};

}  // namespace cellar::bench
