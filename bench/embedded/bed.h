// Bed: a whole engine without a network, in a directory: one thread per shard, each with its ring,
// log and tables, as in cellard. The drivers supply the load.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/embedded/turn_sampler.h"
#include "engine/node.h"
#include "engine/node/reclaim_report.h"
#include "engine/shard_figures.h"
#include "engine/store/local/local_stores.h"
#include "io/base/clock.h"
#include "io/base/huge_chunks.h"
#include "io/disk/backend.h"
#include "io/loop/shard_pool.h"
#include "io/loop/stall_watch.h"

namespace cellar::bench {

// A range of row numbers in one tablet.
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
  bool existing = false;  // the directory already holds a table of this many rows
  int max_versions = 1;   // versions kept after overwrites; 0: all
  int64_t reclaim_within_us = 3'600'000'000;
  int64_t long_turn_us = 0;           // turns longer than this are sampled; 0: none
  std::optional<RetentionRule> rule;  // replaces max_versions
  Compaction compaction = Compaction::automatic;
  BottomCompression bottom_compression = BottomCompression::same;  // other tables use LZ4
  const Clock* clock = nullptr;  // outlives the bed; null: the system's
  engine::EngineOptions engine;
};

// Created and destroyed by one thread, which is not a shard's. A failure ends the process with a
// message.
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
  // The ranges that a shard serves, in order.
  const std::vector<RowRange>& ranges_of(ShardId shard) const { return ranges_[shard.value()]; }
  // Adds a table like the first; returns its ranges on each shard.
  std::vector<std::vector<RowRange>> add_table(const std::string& name);

  void flush(const std::string& table = kTable);
  // Compacts everything into one run per tablet.
  void compact(const std::string& table = kTable);
  // Waits until no merge is due, as far as the public figures show.
  void settle();
  engine::EngineStats stats();     // over all shards
  engine::ShardFigures figures();  // over all shards, of the cache and the device
  // the longest turn of a shard's loop so far; turns below 5 ms count as 0
  int64_t longest_turn_us();
  engine::ReclaimReport reclaim();  // the lag of reclaiming
  // The stacks of turns longer than long_turn_us so far: counts and readable lines.
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
  HugeChunks chunks_;
  ShardPool pool_;
  BlockingPool blocking_;
  std::vector<ShardState> states_;
  std::unique_ptr<engine::ManifestStore> manifest_;
  std::unique_ptr<engine::Node> node_;
  std::vector<std::vector<RowRange>> ranges_;
};

}  // namespace cellar::bench
