#include "net/http/node_reader.h"

#include <algorithm>
#include <map>
#include <utility>

#include "net/http/http_node.h"
#include "net/server/requests/backup_schedule.h"

namespace cellar::http {

using server::LatencyCounts;
using server::RequestMeter;
using server::ShardServer;
using wire::fb::Op;

namespace {

// Runs on the shard.
Async<ShardReading> read_shard(ShardServer& shard, ServedNode& served) {
  ShardReading reading;
  reading.loop = served.loop(shard.id());
  reading.engine = shard.engine().stats();
  reading.figures = shard.engine().shard_figures();
  reading.counters = shard.counters();
  reading.requests = shard.meter().figures();
  reading.slow_requests = shard.meter().slow().total();
  reading.connections = shard.admission().connections();
  reading.scans = shard.admission().scans();
  reading.held_bytes = shard.admission().held_bytes();
  reading.pending_reply_bytes = shard.admission().pending_reply_bytes();
  reading.later_length = shard.later_length();
  reading.mailbox_overflowed = shard.mailbox().overflowed();
  co_return reading;
}

// What concerns the node and not a shard. Runs on the home shard.
Async<NodeReading> read_home(ShardServer& shard) {
  NodeReading reading;
  reading.clock = co_await shard.node().clock_report(shard.id());
  reading.wall_us = shard.wall().wall_us();
  reading.uptime_us = shard.wall().boot_us() - shard.started_us();
  if (shard.disk() != nullptr) reading.disk_free_bytes = shard.disk()->free_bytes();
  reading.disk_reserve_bytes = shard.options().disk.reserve_bytes;
  if (const auto& tls = shard.security().policy().tls) {
    reading.certificate_expires_us = tls->expires_s() * 1'000'000;
  }
  const server::NodeShared& node = shard.shared();
  if (node.backups != nullptr) reading.backups = node.backups->counts();
  if (node.schedule != nullptr) reading.newest_backup_us = node.schedule->newest_us();
  co_return reading;
}

struct Tablets {
  std::vector<engine::TabletFigures> figures;
  engine::TableMap map;
  std::map<TableId, engine::IndexStates> indexes;  // of tables that have some
  int64_t now_us = 0;                              // trusted time
};

Async<Tablets> read_tablets(ShardServer& shard) {
  Tablets all;
  auto figures = co_await shard.node().tablet_figures(shard.id(), TableId{});
  if (figures) all.figures = std::move(*figures);
  all.map = shard.tables();
  for (const auto& [name, entry] : all.map.tables()) {
    if (entry->schema.indexes.empty()) continue;
    auto states = co_await shard.node().index_states(shard.id(), std::string(name));
    if (states) all.indexes[entry->schema.id] = std::move(*states);
  }
  all.now_us = shard.clock().now_us();
  co_return all;
}

void tell_reclaim(TableReading& table, const engine::ReclaimFigures& of, double dead_slack,
                  int64_t now_us) {
  table.dead_bytes = of.dead_bytes;
  table.live_bytes = table.bytes - std::min(table.bytes, table.dead_bytes);
  table.overdue_bytes = of.overdue_bytes;
  table.held_bytes = of.held_bytes;
  table.pinned_bytes = of.pinned_bytes;
  table.damaged_sstables = std::max(of.damaged_tables, of.verified.damaged);
  table.verified = of.verified;
  table.oldest_death_us = of.oldest_death_us;
  table.next_reclaim_us = of.next_reclaim_us;
  table.dying = of.dying;
  const int64_t missed_us = engine::missed_since_us(of, dead_slack, now_us);
  if (missed_us < now_us) table.missed_us = now_us - missed_us;
}

std::vector<TableReading> add_up(Tablets& all) {
  std::vector<TableReading> tables;
  for (const auto& [name, entry] : all.map.tables()) {
    TableReading table;
    engine::ReclaimFigures reclaim;
    table.id = entry->schema.id;
    table.name = name;
    if (const auto at = all.indexes.find(table.id); at != all.indexes.end()) {
      table.indexes = std::move(at->second);
    }
    for (const engine::TabletFigures& one : all.figures) {
      if (one.tablet.table != table.id) continue;
      ++table.tablets;
      table.bytes += one.bytes;
      table.zstd_bytes += one.zstd_bytes;
      table.unflushed_bytes += one.unflushed_bytes;
      table.sstables += one.tables;
      table.reads += one.reads;
      table.writes += one.writes;
      table.left_cells += one.left_cells;
      table.left_bytes += one.left_bytes;
      reclaim.add(one);
    }
    tell_reclaim(table, reclaim, entry->schema.options.dead_slack, all.now_us);
    tables.push_back(std::move(table));
  }
  return tables;
}

bool is_read(size_t op) {
  return op == static_cast<size_t>(Op::Get) || op == static_cast<size_t>(Op::ReadRow) ||
         op == static_cast<size_t>(Op::ReadRows) || op == static_cast<size_t>(Op::ReadIndex);
}
bool is_write(size_t op) {
  return op == static_cast<size_t>(Op::Put) || op == static_cast<size_t>(Op::MutateRow) ||
         op == static_cast<size_t>(Op::MutateRows) ||
         op == static_cast<size_t>(Op::CheckAndMutateRow) ||
         op == static_cast<size_t>(Op::ReadModifyWriteRow);
}

struct Totals {
  LatencyCounts reads;
  LatencyCounts writes;
  uint64_t errors = 0;
  uint64_t cache_hits = 0;
  uint64_t cache_misses = 0;
  uint64_t flushed_bytes = 0;
  uint64_t compacted_bytes = 0;
  uint64_t left_cells = 0;
  uint64_t left_bytes = 0;
};

Totals totals_of(const NodeReading& reading) {
  Totals totals;
  for (const ShardReading& shard : reading.shards) {
    totals.cache_hits += shard.figures.cache_hits;
    totals.cache_misses += shard.figures.cache_misses;
    totals.flushed_bytes += shard.figures.flushed_bytes;
    totals.compacted_bytes += shard.figures.compacted_bytes;
    totals.left_cells += shard.figures.left_cells;
    totals.left_bytes += shard.figures.left_bytes;
    for (size_t op = 0; op < RequestMeter::kOps; ++op) {
      const auto& figures = shard.requests.ops[op];
      if (is_read(op)) totals.reads.add(figures.latency);
      if (is_write(op)) totals.writes.add(figures.latency);
      for (size_t code = 1; code < RequestMeter::kCodes; ++code) {
        totals.errors += figures.answers[code];
      }
    }
  }
  return totals;
}

LatencyReading latency_of(LatencyCounts now, const LatencyCounts& before, int64_t span_us) {
  now.subtract(before);
  return {static_cast<double>(now.count()) * 1e6 / static_cast<double>(span_us),
          now.quantile_us(0.5), now.quantile_us(0.95), now.quantile_us(0.99)};
}

HistoryPoint point_between(const NodeReading& before, const NodeReading& now) {
  HistoryPoint point;
  point.wall_us = now.wall_us;
  point.span_us = std::max<int64_t>(now.at_us - before.at_us, 1);
  const Totals totals = totals_of(now);
  const Totals earlier = totals_of(before);
  point.reads = latency_of(totals.reads, earlier.reads, point.span_us);
  point.writes = latency_of(totals.writes, earlier.writes, point.span_us);
  point.errors = totals.errors - earlier.errors;
  point.cache_hits = totals.cache_hits - earlier.cache_hits;
  point.cache_misses = totals.cache_misses - earlier.cache_misses;
  point.disk_free_bytes =
      now.disk_free_bytes == server::DiskRoom::kUnknown ? 0 : now.disk_free_bytes;
  point.flushed_bytes = totals.flushed_bytes - earlier.flushed_bytes;
  point.compacted_bytes = totals.compacted_bytes - earlier.compacted_bytes;
  point.left_cells = totals.left_cells - earlier.left_cells;
  point.left_bytes = totals.left_bytes - earlier.left_bytes;
  for (size_t i = 0; i < now.shards.size(); ++i) {
    const engine::EngineStats& engine = now.shards[i].engine;
    point.memory_bytes += engine.memtable_bytes + engine.cache_bytes + engine.metadata_bytes;
    const int64_t slept_us = now.shards[i].loop.slept_us - before.shards[i].loop.slept_us;
    const double idle = static_cast<double>(slept_us) / static_cast<double>(point.span_us);
    point.busy.push_back(std::clamp(1 - idle, 0.0, 1.0));
  }
  return point;
}

template <class Point>
void keep(std::deque<Point>& points, size_t most, Point point) {
  if (points.size() == most) points.pop_front();
  points.push_back(std::move(point));
}

// Counters of a tablet begin again when it moves.
std::vector<TabletHeat> heat_between(const TableReadings& before, const TableReadings& now) {
  const double span_s = static_cast<double>(std::max<int64_t>(now.at_us - before.at_us, 1)) / 1e6;
  std::map<TabletId, uint64_t> earlier;
  for (const engine::TabletFigures& one : before.tablets) {
    earlier[one.tablet.id] = one.reads + one.writes;
  }
  std::vector<TabletHeat> heat;
  for (const engine::TabletFigures& one : now.tablets) {
    const auto was = earlier.find(one.tablet.id);
    const uint64_t total = one.reads + one.writes;
    if (was == earlier.end() || total <= was->second) continue;
    heat.push_back(
        {one.tablet.id, one.tablet.table, static_cast<double>(total - was->second) / span_s});
  }
  std::ranges::sort(heat, std::ranges::greater(), &TabletHeat::per_second);
  if (heat.size() > NodeReader::kHeatTablets) heat.resize(NodeReader::kHeatTablets);
  return heat;
}

}  // namespace

Async<std::shared_ptr<const NodeReading>> NodeReader::node() {
  const AsyncMutex::Lock lock = co_await node_lock_.lock();
  if (node_reading_ && node_.timers().now_us() - node_reading_->at_us < kNodeUs) {
    co_return node_reading_;
  }
  const int64_t at_us = node_.timers().now_us();
  auto reading = std::make_shared<NodeReading>(co_await node_.ask_home(&read_home));
  reading->at_us = at_us;
  ServedNode& served = *node_.served();
  for (uint32_t i = 0; i < served.shards(); ++i) {
    const ShardId id{i};
    auto look = [&served, id] { return read_shard(served.on(id), served); };
    reading->shards.push_back(co_await node_.ask(id, std::move(look)));
  }
  reading->answers_bytes = served.on(ShardId{0}).memory().answers();
  reading->requests_bytes = served.on(ShardId{0}).memory().requests();
  node_reading_ = std::move(reading);
  co_return node_reading_;
}

Async<std::shared_ptr<const TableReadings>> NodeReader::tables() {
  const AsyncMutex::Lock lock = co_await tables_lock_.lock();
  const int64_t began_us = node_.readiness().now_us();
  if (table_readings_ && began_us < tables_not_before_us_) co_return table_readings_;
  Tablets all = co_await node_.ask_home(&read_tablets);
  auto readings = std::make_shared<TableReadings>();
  readings->at_us = began_us;
  readings->tables = add_up(all);
  readings->tablets = std::move(all.figures);
  const int64_t took_us = node_.readiness().now_us() - began_us;
  tables_not_before_us_ = began_us + std::max(kTabletsUs, took_us * kTabletsRest);
  table_readings_ = std::move(readings);
  co_return table_readings_;
}

void NodeReader::start() {
  running_ = true;
  spawn(node_.executor(), history_loop());
}

Async<void> NodeReader::stop() {
  stopping_ = true;
  if (running_) co_await ended_.wait();
}

Async<void> NodeReader::history_loop() {
  constexpr int64_t kLookUs = 100'000;  // upper bound of the wait in stop()
  int64_t next_us = node_.timers().now_us();
  while (!stopping_) {
    if (node_.timers().now_us() >= next_us && !node_.readiness().stuck_shard()) {
      next_us = node_.timers().now_us() + kHistoryUs;
      const std::shared_ptr<const NodeReading> reading = co_await node();
      add_point(reading);
      co_await add_minute(reading);
    }
    co_await sleep_us(node_.timers(), kLookUs);
  }
  ended_.set();
}

void NodeReader::add_point(std::shared_ptr<const NodeReading> now) {
  if (last_point_) keep(history_, kHistoryPoints, point_between(*last_point_, *now));
  last_point_ = std::move(now);
}

Async<void> NodeReader::add_minute(std::shared_ptr<const NodeReading> now) {
  if (last_minute_ && now->at_us - last_minute_->at_us < kMinuteUs) co_return;
  const std::shared_ptr<const NodeReading> before = std::exchange(last_minute_, now);
  if (!before) co_return;
  HistoryPoint point = point_between(*before, *now);
  const std::shared_ptr<const TableReadings> all = co_await tables();
  for (const TableReading& table : all->tables) {
    point.live_bytes += table.live_bytes;
    point.dead_bytes += table.dead_bytes;
    point.overdue_bytes += table.overdue_bytes;
  }
  keep(minutes_, kMinutes, std::move(point));
  add_heat(all, now->wall_us);
}

void NodeReader::add_heat(std::shared_ptr<const TableReadings> now, int64_t wall_us) {
  if (last_heat_) {
    HeatSample sample{wall_us, now->at_us - last_heat_->at_us, heat_between(*last_heat_, *now)};
    keep(heat_, kHeatSamples, std::move(sample));
  }
  last_heat_ = std::move(now);
}

}  // namespace cellar::http
