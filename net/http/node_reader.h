// NodeReader: takes readings of the node, and keeps them for a moment, so that however many ask,
// the shards are asked as often as one would.
//
// What tablets hold costs a shard more than all else, since it looks at each of them; so that is
// taken no oftener than once in kTabletsUs, and less often where it took long.
#pragma once

#include <deque>
#include <memory>

#include "io/loop/event.h"
#include "net/http/node_reading.h"

namespace cellar::http {

class HttpNode;

// One point of the node's recent past.
struct HistoryPoint {
  int64_t wall_us = 0;
  int64_t span_us = 0;  // that it stands for
  server::LatencyCounts reads;
  server::LatencyCounts writes;
  uint64_t errors = 0;
  std::vector<double> busy;  // a share of the span, a shard
};

// One loop.
class NodeReader {
 public:
  static constexpr int64_t kNodeUs = 250'000;
  static constexpr int64_t kTabletsUs = 2'000'000;
  static constexpr int64_t kTabletsRest = 50;  // times what a look took
  static constexpr int64_t kHistoryUs = 5'000'000;
  static constexpr size_t kHistoryPoints = 180;

  explicit NodeReader(HttpNode& node) : node_(node) {}

  Async<std::shared_ptr<const NodeReading>> node();
  Async<std::shared_ptr<const TableReadings>> tables();

  // Takes a point of history now and then, until stop().
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
