// /metrics, in the text format of Prometheus.
#include <algorithm>

#include "io/loop/process_figures.h"
#include "net/http/api.h"
#include "net/http/http_listener.h"
#include "net/http/http_node.h"
#include "net/http/metric_table.h"
#include "net/http/routes.h"

namespace cellar::http {

using server::NodeState;
using server::RequestMeter;

namespace {

double seconds(int64_t us) { return static_cast<double>(us) / 1e6; }

template <class Of>
void each_shard(MetricsText& out, std::string_view name, const NodeReading& reading, Of of) {
  out.family(name);
  for (size_t i = 0; i < reading.shards.size(); ++i) {
    out.sample(fmt::format("shard=\"{}\"", i), of(reading.shards[i]));
  }
}

void write_node(MetricsText& out, HttpNode& node, const NodeReading& reading) {
  out.family("cellar_build_info");
  const server::NodeFacts& facts = node.served()->facts();
  out.sample(fmt::format("version=\"{}\",io_backend=\"{}\"", label_value(facts.version),
                         label_value(facts.io_backend)),
             uint64_t{1});
  out.family("cellar_node_state");
  for (const NodeState state : server::kNodeStates) {
    out.sample(fmt::format("state=\"{}\"", server::name_of(state)),
               uint64_t{node.readiness().state() == state});
  }
  out.seconds("cellar_uptime_seconds", reading.uptime_us);
  out.plain("cellar_shards", reading.shards.size());
  if (const HttpListener* listener = node.listener()) {
    out.plain("cellar_http_connections", listener->connections());
    out.family("cellar_http_connections_total");
    out.sample("result=\"accepted\"", listener->accepted());
    out.sample("result=\"refused\"", listener->refused());
  }
}

void write_machine(MetricsText& out, const NodeReading& reading) {
  const ProcessFigures process = read_process_figures();
  out.seconds("cellar_process_cpu_seconds_total", process.user_us + process.system_us);
  out.plain("cellar_process_resident_bytes", process.resident_bytes);
  out.plain("cellar_process_open_descriptors", process.open_descriptors);
  out.plain("cellar_process_descriptor_limit", process.descriptor_limit);
  out.family("cellar_disk_free_bytes");
  if (reading.disk_free_bytes != server::DiskRoom::kUnknown)
    out.sample("", reading.disk_free_bytes);
  out.plain("cellar_disk_reserve_bytes", reading.disk_reserve_bytes);
  out.family("cellar_certificate_expiry_timestamp_seconds");
  if (reading.certificate_expires_us != 0) out.sample("", seconds(reading.certificate_expires_us));
  out.family("cellar_backups_total");
  out.sample("result=\"taken\"", reading.backups.taken);
  out.sample("result=\"failed\"", reading.backups.failed);
  out.family("cellar_backup_newest_timestamp_seconds");
  if (reading.newest_backup_us) out.sample("", seconds(*reading.newest_backup_us));
}

void write_requests(MetricsText& out, const RequestMeter::Figures& all) {
  out.family("cellar_requests_total");
  for (size_t op = 0; op < RequestMeter::kOps; ++op) {
    for (size_t code = 0; code < RequestMeter::kCodes; ++code) {
      if (all.ops[op].answers[code] == 0) continue;
      out.sample(
          fmt::format("op=\"{}\",code=\"{}\"", op_name(op), code_name(static_cast<Errc>(code))),
          all.ops[op].answers[code]);
    }
  }
  out.family("cellar_request_duration_seconds");
  for (size_t op = 0; op < RequestMeter::kOps; ++op) {
    const server::LatencyCounts& latency = all.ops[op].latency;
    const uint64_t count = latency.count();
    if (count == 0) continue;
    const std::string name = op_name(op);
    for (unsigned bits = 6; bits <= 23; ++bits) {
      out.sample(
          fmt::format("op=\"{}\",le=\"{}\"", name, static_cast<double>(uint64_t{1} << bits) / 1e6),
          latency.below_power(bits), "_bucket");
    }
    out.sample(fmt::format("op=\"{}\",le=\"+Inf\"", name), count, "_bucket");
    out.sample(fmt::format("op=\"{}\"", name), static_cast<double>(latency.sum_us()) / 1e6, "_sum");
    out.sample(fmt::format("op=\"{}\"", name), count, "_count");
  }
}

uint64_t answered(const ShardReading& shard) {
  uint64_t all = 0;
  for (const auto& op : shard.requests.ops) {
    for (const uint64_t n : op.answers) all += n;
  }
  return all;
}

using Counters = server::ShardServer::Counters;
using engine::EngineStats;
using engine::ShardFigures;

// Writes families whose sample of a shard is one of its counts.
class ShardCounts {
 public:
  ShardCounts(MetricsText& out, const NodeReading& reading) : out_(out), reading_(reading) {}
  template <class Count>
  void operator()(std::string_view name, Count ShardReading::* count) const {
    each_shard(out_, name, reading_, [=](const ShardReading& s) { return uint64_t{s.*count}; });
  }
  template <class Part, class Count>
  void operator()(std::string_view name, Part ShardReading::* part, Count Part::* count) const {
    each_shard(out_, name, reading_,
               [=](const ShardReading& s) { return uint64_t{s.*part.*count}; });
  }

 private:
  MetricsText& out_;
  const NodeReading& reading_;
};

void write_traffic(MetricsText& out, const NodeReading& r) {
  const ShardCounts count(out, r);
  count("cellar_slow_requests_total", &ShardReading::slow_requests);
  each_shard(out, "cellar_requests_in_flight", r, [](const ShardReading& s) {
    return s.counters.requests - std::min(s.counters.requests, answered(s));
  });
  count("cellar_requests_handed_over_total", &ShardReading::counters, &Counters::handed_over);
  count("cellar_received_bytes_total", &ShardReading::counters, &Counters::received_bytes);
  count("cellar_sent_bytes_total", &ShardReading::counters, &Counters::sent_bytes);
  count("cellar_sessions", &ShardReading::connections);
  count("cellar_sessions_accepted_total", &ShardReading::counters, &Counters::accepted);
  count("cellar_sessions_taken_over_total", &ShardReading::counters, &Counters::taken_over);
  count("cellar_sessions_refused_total", &ShardReading::counters, &Counters::refused);
  count("cellar_sessions_malformed_total", &ShardReading::counters, &Counters::garbage);
  count("cellar_scans", &ShardReading::scans);
  count("cellar_queued_slices", &ShardReading::later_length);
  count("cellar_slices_total", &ShardReading::counters, &Counters::slices);
  count("cellar_cursors_released_total", &ShardReading::counters, &Counters::released_cursors);
  count("cellar_held_request_bytes", &ShardReading::held_bytes);
  count("cellar_pending_reply_bytes", &ShardReading::pending_reply_bytes);
  count("cellar_mailbox_overflows_total", &ShardReading::mailbox_overflowed);
}

void write_shards(MetricsText& out, const NodeReading& r) {
  const ShardCounts count(out, r);
  each_shard(out, "cellar_shard_idle_seconds_total", r,
             [](const ShardReading& s) { return seconds(s.loop.slept_us); });
  count("cellar_shard_turns_total", &ShardReading::loop, &LoopReading::turns);
  count("cellar_shard_stalls_total", &ShardReading::loop, &LoopReading::stalls);
  each_shard(out, "cellar_shard_longest_stall_seconds", r,
             [](const ShardReading& s) { return seconds(s.loop.longest_stall_us); });
  count("cellar_shard_read_only", &ShardReading::engine, &EngineStats::read_only);
  count("cellar_shard_read_only_start", &ShardReading::engine, &EngineStats::read_only_start);
  each_shard(out, "cellar_oldest_io_seconds", r,
             [](const ShardReading& s) { return seconds(s.loop.oldest_io_us); });
  count("cellar_tokens", &ShardReading::engine, &EngineStats::tokens);
  count("cellar_row_cache_hits_total", &ShardReading::figures, &ShardFigures::row_hits);
  count("cellar_row_cache_misses_total", &ShardReading::figures, &ShardFigures::row_misses);
  count("cellar_cache_hits_total", &ShardReading::figures, &ShardFigures::cache_hits);
  count("cellar_cache_packed_hits_total", &ShardReading::figures, &ShardFigures::cache_packed_hits);
  count("cellar_cache_packed_bytes", &ShardReading::figures, &ShardFigures::cache_packed_bytes);
  count("cellar_cache_misses_total", &ShardReading::figures, &ShardFigures::cache_misses);
  count("cellar_cache_evictions_total", &ShardReading::figures, &ShardFigures::cache_evicted);
  count("cellar_device_reads_total", &ShardReading::figures, &ShardFigures::device_reads);
  count("cellar_device_read_bytes_total", &ShardReading::figures, &ShardFigures::device_read_bytes);
  count("cellar_device_read_errors_total", &ShardReading::figures, &ShardFigures::failed_reads);
  count("cellar_checksum_errors_total", &ShardReading::figures, &ShardFigures::damaged_blocks);
}

void write_scrub(MetricsText& out, const HttpNode& node, const NodeReading& r) {
  using engine::ScrubFigures;
  const auto count = [&](std::string_view name, uint64_t ScrubFigures::* field) {
    each_shard(out, name, r, [field](const ShardReading& s) { return s.figures.scrub.*field; });
  };
  count("cellar_scrub_read_bytes_total", &ScrubFigures::read_bytes);
  count("cellar_scrub_verified_sstables_total", &ScrubFigures::verified_tables);
  count("cellar_scrub_damaged_blocks_total", &ScrubFigures::damaged_blocks);
  count("cellar_scrub_read_errors_total", &ScrubFigures::failed_reads);
  count("cellar_scrub_damaged_sstables", &ScrubFigures::damaged_tables);
  out.seconds("cellar_scrub_every_seconds", node.options().engine.scrub_every_us);
}

void write_engine(MetricsText& out, const NodeReading& r) {
  const ShardCounts count(out, r);
  count("cellar_log_bytes", &ShardReading::engine, &EngineStats::log_bytes);
  count("cellar_pinned_memtable_bytes", &ShardReading::engine, &EngineStats::pinned_memtable_bytes);
  count("cellar_commits_total", &ShardReading::engine, &EngineStats::commits);
  count("cellar_flushes_total", &ShardReading::engine, &EngineStats::flushes);
  count("cellar_compactions_total", &ShardReading::engine, &EngineStats::compactions);
  each_shard(out, "cellar_compactions_running", r,
             [](const ShardReading& s) { return uint64_t{s.figures.merge.tablet != TabletId{}}; });
  count("cellar_reclaim_turns_total", &ShardReading::engine, &EngineStats::reclaim_turns);
  count("cellar_sstables", &ShardReading::engine, &EngineStats::tables_on_disk);
  count("cellar_sstable_bytes", &ShardReading::engine, &EngineStats::table_bytes);
  count("cellar_sstable_zstd_bytes", &ShardReading::figures, &ShardFigures::zstd_bytes);
  count("cellar_tablets", &ShardReading::engine, &EngineStats::tablets);
  count("cellar_replayed_commits", &ShardReading::engine, &EngineStats::replayed_commits);
  count("cellar_torn_tail_bytes", &ShardReading::engine, &EngineStats::torn_tail_bytes);
}

void write_memory(MetricsText& out, HttpNode& node, const NodeReading& reading) {
  engine::MemoryFigures all;
  uint64_t log = 0;
  for (const ShardReading& shard : reading.shards) {
    const engine::MemoryFigures& one = shard.figures.memory;
    all.memtable_bytes += one.memtable_bytes + one.pinned_bytes;
    all.released_bytes += one.released_bytes;
    all.cache_bytes += one.cache_bytes;
    all.metadata_bytes += one.metadata_bytes;
    all.token_bytes += one.token_bytes;
    all.free_bytes += one.free_bytes;
    all.withheld_bytes += one.withheld_bytes;
    all.row_bytes += one.row_bytes;
    log += shard.engine.log_pending_bytes;
  }
  out.family("cellar_memory_bytes");
  out.sample("kind=\"memtables\"", all.memtable_bytes);
  out.sample("kind=\"released\"", all.released_bytes);
  out.sample("kind=\"cache\"", all.cache_bytes);
  out.sample("kind=\"metadata\"", all.metadata_bytes);
  out.sample("kind=\"tokens\"", all.token_bytes);
  out.sample("kind=\"free\"", all.free_bytes);
  out.sample("kind=\"withheld\"", all.withheld_bytes);
  out.sample("kind=\"rows\"", all.row_bytes);
  out.sample("kind=\"log\"", log);
  out.sample("kind=\"answers\"", reading.answers_bytes);
  out.sample("kind=\"requests\"", reading.requests_bytes);
  out.plain("cellar_memory_limit_bytes", node.options().engine.memory_bytes);
}

void write_clock(MetricsText& out, const engine::ClockReport& clock) {
  out.seconds("cellar_clock_held_seconds", clock.held_us);
  out.seconds("cellar_clock_lag_seconds", clock.lag_us);
  out.plain("cellar_clock_synchronised", clock.synchronised ? 1 : 0);
  out.seconds("cellar_clock_trusted_timestamp_seconds", clock.trusted_us);
}

// The largest tables by name, the rest as one.
std::vector<TableReading> labelled(std::vector<TableReading> tables) {
  if (tables.size() <= kLabelledTables) return tables;
  std::ranges::sort(tables, std::greater<>(), &TableReading::bytes);
  TableReading other;
  other.name = "other";
  for (size_t i = kLabelledTables; i < tables.size(); ++i) {
    const TableReading& one = tables[i];
    other.tablets += one.tablets;
    other.bytes += one.bytes;
    other.zstd_bytes += one.zstd_bytes;
    other.unflushed_bytes += one.unflushed_bytes;
    other.live_bytes += one.live_bytes;
    other.dead_bytes += one.dead_bytes;
    other.overdue_bytes += one.overdue_bytes;
    other.pinned_bytes += one.pinned_bytes;
    other.damaged_sstables += one.damaged_sstables;
    other.verified.add(one.verified);
    other.missed_us = std::max(other.missed_us, one.missed_us);
    other.reads += one.reads;
    other.writes += one.writes;
    other.oldest_death_us = std::min(other.oldest_death_us, one.oldest_death_us);
    other.next_reclaim_us = std::min(other.next_reclaim_us, one.next_reclaim_us);
  }
  tables.resize(kLabelledTables);
  tables.push_back(std::move(other));
  return tables;
}

template <class Of>
void each_table(MetricsText& out, std::string_view name, const std::vector<TableReading>& tables,
                Of of) {
  out.family(name);
  for (const TableReading& table : tables) {
    const auto value = of(table);
    if (value) out.sample(fmt::format("table=\"{}\"", label_value(table.name)), *value);
  }
}

template <class Of>
void each_index(MetricsText& out, std::string_view name, const std::vector<TableReading>& tables,
                Of of) {
  out.family(name);
  for (const TableReading& table : tables) {
    const engine::IndexStates& all = table.indexes;
    for (size_t i = 0; i < all.indexes.size(); ++i) {
      out.sample(fmt::format("table=\"{}\",index=\"{}\"", label_value(table.name),
                             label_value(all.indexes[i].name)),
                 of(all.states[i]));
    }
  }
}

void write_indexes(MetricsText& out, const std::vector<TableReading>& tables) {
  using State = engine::IndexState;
  each_index(out, "cellar_index_ready", tables, [](const State& s) { return uint64_t{s.ready}; });
  each_index(out, "cellar_index_done_ratio", tables, [](const State& s) { return s.share_done(); });
  each_index(out, "cellar_index_entries", tables, [](const State& s) { return s.entries; });
  each_index(out, "cellar_index_bytes", tables, [](const State& s) { return s.bytes; });
  each_index(out, "cellar_index_skipped_cells", tables, [](const State& s) { return s.skipped; });
}

void write_tables(MetricsText& out, const std::vector<TableReading>& tables, int64_t now_us) {
  using T = TableReading;
  const auto number = [&](std::string_view name, uint64_t T::* field) {
    each_table(out, name, tables, [field](const T& t) { return std::optional(t.*field); });
  };
  number("cellar_table_live_bytes", &T::live_bytes);
  number("cellar_table_dead_bytes", &T::dead_bytes);
  number("cellar_table_overdue_bytes", &T::overdue_bytes);
  number("cellar_table_pinned_bytes", &T::pinned_bytes);
  number("cellar_table_damaged_sstables", &T::damaged_sstables);
  // Absent if there are no files, or one was not read yet.
  each_table(out, "cellar_table_verified_age_seconds", tables, [now_us](const T& t) {
    const int64_t since_us = t.verified.since_us;
    if (since_us == 0 || since_us == INT64_MAX) return std::optional<double>();
    return std::optional(seconds(std::max<int64_t>(now_us - since_us, 0)));
  });
  each_table(out, "cellar_table_deadline_missed_seconds", tables,
             [](const T& t) { return std::optional(seconds(t.missed_us)); });
  each_table(out, "cellar_table_oldest_dead_seconds", tables, [now_us](const T& t) {
    const bool none = t.oldest_death_us == INT64_MAX;
    return std::optional(none ? 0.0 : seconds(std::max<int64_t>(now_us - t.oldest_death_us, 0)));
  });
  each_table(out, "cellar_table_next_reclaim_seconds", tables, [now_us](const T& t) {
    if (t.next_reclaim_us == INT64_MAX) return std::optional<double>();
    return std::optional(seconds(std::max<int64_t>(t.next_reclaim_us - now_us, 0)));
  });
  number("cellar_table_zstd_bytes", &T::zstd_bytes);
  number("cellar_table_unflushed_bytes", &T::unflushed_bytes);
  number("cellar_table_tablets", &T::tablets);
  number("cellar_table_reads_total", &T::reads);
  number("cellar_table_writes_total", &T::writes);
}

}  // namespace

Async<HttpResponse> handle_metrics(HttpNode& node, const HttpRequest&) {
  const std::shared_ptr<const NodeReading> reading = co_await node.reader().node();
  const std::shared_ptr<const TableReadings> tables = co_await node.reader().tables();
  RequestMeter::Figures all;
  for (const ShardReading& shard : reading->shards) all.add(shard.requests);
  MetricsText out;
  write_node(out, node, *reading);
  write_machine(out, *reading);
  write_requests(out, all);
  write_traffic(out, *reading);
  write_shards(out, *reading);
  write_engine(out, *reading);
  write_scrub(out, node, *reading);
  write_memory(out, node, *reading);
  const std::vector<TableReading> shown = labelled(tables->tables);
  write_tables(out, shown, reading->clock.trusted_us);
  write_indexes(out, shown);
  write_clock(out, reading->clock);
  HttpResponse response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = out.take();
  co_return response;
}

}  // namespace cellar::http
