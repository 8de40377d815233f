// NodeReader: takes readings of the node and caches them briefly, so that the load on the shards
// does not depend on the number of clients.
//
// Tablet figures are the most expensive part, because a shard visits each tablet; they are taken at
// most once per kTabletsUs, and less often if they took long.
#pragma once

#include <deque>
#include <memory>

#include "io/loop/event.h"
#include "net/http/node_reading.h"

namespace cellar::http {

class HttpNode;

// Requests of one kind in a span of time.
struct LatencyReading {
  double per_second = 0;
  uint64_t p50_us = 0;
  uint64_t p95_us = 0;
  uint64_t p99_us = 0;
};

// One sample of the node's history.
struct HistoryPoint {
  int64_t wall_us = 0;
  int64_t span_us = 0;  // length of the sample
  LatencyReading reads;
  LatencyReading writes;
  uint64_t errors = 0;
  uint64_t cache_hits = 0;  // in the span, as the next
  uint64_t cache_misses = 0;
  uint64_t memory_bytes = 0;  // memtables, cache, metadata; at the end of the span
  uint64_t disk_free_bytes = 0;
  uint64_t flushed_bytes = 0;    // written to tables in the span by flushes,
  uint64_t compacted_bytes = 0;  // and by merges
  uint64_t left_cells = 0;       // dropped by merges and removals in the span
  uint64_t left_bytes = 0;
  std::vector<double> busy;  // busy fraction of the span, per shard
  // Of all tables, in samples of kMinutes; otherwise 0.
  uint64_t live_bytes = 0;
  uint64_t dead_bytes = 0;
  uint64_t overdue_bytes = 0;
};

// Reads and writes of a tablet.
struct TabletHeat {
  TabletId tablet;
  TableId table;
  double per_second = 0;
};

// The most loaded tablets in a minute, the most loaded first.
struct HeatSample {
  int64_t wall_us = 0;
  int64_t span_us = 0;
  std::vector<TabletHeat> tablets;
};

// One loop.
class NodeReader {
 public:
  static constexpr int64_t kNodeUs = 250'000;
  static constexpr int64_t kTabletsUs = 2'000'000;
  // pause between readings, in multiples of their duration
  static constexpr int64_t kTabletsRest = 50;
  static constexpr int64_t kHistoryUs = 5'000'000;
  static constexpr size_t kHistoryPoints = 180;
  // The second history: a sample a minute, of a day.
  static constexpr int64_t kMinuteUs = 60'000'000;
  static constexpr size_t kMinutes = 1440;
  // The third: a sample a minute of the tablets in use, of an hour.
  static constexpr size_t kHeatSamples = 60;
  static constexpr size_t kHeatTablets = 512;

  explicit NodeReader(HttpNode& node) : node_(node) {}

  Async<std::shared_ptr<const NodeReading>> node();
  Async<std::shared_ptr<const TableReadings>> tables();

  // Records history until stop().
  void start();
  Async<void> stop();
  const std::deque<HistoryPoint>& history() const { return history_; }
  const std::deque<HistoryPoint>& minutes() const { return minutes_; }
  const std::deque<HeatSample>& heat() const { return heat_; }

 private:
  Async<void> history_loop();
  void add_point(std::shared_ptr<const NodeReading> now);
  Async<void> add_minute(std::shared_ptr<const NodeReading> now);
  void add_heat(std::shared_ptr<const TableReadings> now, int64_t wall_us);

  HttpNode& node_;
  AsyncMutex node_lock_;
  AsyncMutex tables_lock_;
  std::shared_ptr<const NodeReading> node_reading_;
  std::shared_ptr<const TableReadings> table_readings_;
  int64_t tables_not_before_us_ = 0;
  std::shared_ptr<const NodeReading> last_point_;
  std::shared_ptr<const NodeReading> last_minute_;
  std::deque<HistoryPoint> history_;
  std::deque<HistoryPoint> minutes_;
  std::shared_ptr<const TableReadings> last_heat_;
  std::deque<HeatSample> heat_;
  bool stopping_ = false;
  bool running_ = false;
  Event ended_;
};

}  // namespace cellar::http
