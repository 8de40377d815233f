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

// One sample of the node's history.
struct HistoryPoint {
  int64_t wall_us = 0;
  int64_t span_us = 0;  // length of the sample
  server::LatencyCounts reads;
  server::LatencyCounts writes;
  uint64_t errors = 0;
  std::vector<double> busy;  // busy fraction of the span, per shard
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

  explicit NodeReader(HttpNode& node) : node_(node) {}

  Async<std::shared_ptr<const NodeReading>> node();
  Async<std::shared_ptr<const TableReadings>> tables();

  // Records history until stop().
  void start();
  Async<void> stop();
  const std::deque<HistoryPoint>& history() const { return history_; }

 private:
  Async<void> history_loop();
  void add_point(const NodeReading& now);

  HttpNode& node_;
  AsyncMutex node_lock_;
  AsyncMutex tables_lock_;
  std::shared_ptr<const NodeReading> node_reading_;
  std::shared_ptr<const TableReadings> table_readings_;
  int64_t tables_not_before_us_ = 0;
  std::shared_ptr<const NodeReading> last_point_;
  std::deque<HistoryPoint> history_;
  bool stopping_ = false;
  bool running_ = false;
  Event ended_;
};

}  // namespace cellar::http
