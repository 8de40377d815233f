#include "net/http/metric_table.h"

#include <algorithm>

#include "io/base/check.h"

namespace cellar::http {
namespace {

using Type = Metric::Type;

constexpr Metric kMetrics[] = {
    // ---- node
    {"cellar_build_info", Type::gauge, "version,io_backend", "always 1"},
    {"cellar_node_state", Type::gauge, "state",
     "1 for the state that the node is in, 0 for others"},
    {"cellar_uptime_seconds", Type::gauge, "", "since the node opened its data"},
    {"cellar_shards", Type::gauge, "", "shards of the node"},
    {"cellar_http_connections", Type::gauge, "", "open connections of this listener"},
    {"cellar_http_connections_total", Type::counter, "result",
     "connections of this listener that were accepted, and refused at the bound"},
    // ---- requests
    {"cellar_requests_total", Type::counter, "op,code", "answered requests"},
    {"cellar_request_duration_seconds", Type::histogram, "op",
     "from a request's bytes to its last answer at the socket"},
    {"cellar_slow_requests_total", Type::counter, "shard",
     "requests that took slow_request or more"},
    {"cellar_requests_in_flight", Type::gauge, "shard", "taken and not answered"},
    {"cellar_requests_handed_over_total", Type::counter, "shard",
     "requests of a connection here whose tablet another shard serves"},
    {"cellar_received_bytes_total", Type::counter, "shard", "of the protocol"},
    {"cellar_sent_bytes_total", Type::counter, "shard", "of the protocol"},
    // ---- sessions
    {"cellar_sessions", Type::gauge, "shard", "open connections"},
    {"cellar_sessions_accepted_total", Type::counter, "shard", "connections taken"},
    {"cellar_sessions_refused_total", Type::counter, "shard",
     "connections closed at limits.connections or while the node stops"},
    {"cellar_sessions_malformed_total", Type::counter, "shard",
     "connections ended because what they sent was no protocol"},
    // ---- queues
    {"cellar_scans", Type::gauge, "shard", "streams of chunks that are open"},
    {"cellar_queued_slices", Type::gauge, "shard", "reads that wait for their next slice of time"},
    {"cellar_slices_total", Type::counter, "shard", "slices of reads that were run"},
    {"cellar_cursors_released_total", Type::counter, "shard",
     "cursors of waiting streams that were let go"},
    {"cellar_held_request_bytes", Type::gauge, "shard", "request bodies kept beyond their read"},
    {"cellar_pending_reply_bytes", Type::gauge, "shard", "answers that clients have not taken"},
    {"cellar_mailbox_overflows_total", Type::counter, "shard",
     "messages to other shards that had to wait for room"},
    // ---- shards
    {"cellar_shard_idle_seconds_total", Type::counter, "shard", "time the loop slept"},
    {"cellar_shard_turns_total", Type::counter, "shard", "turns of the loop"},
    {"cellar_shard_stalls_total", Type::counter, "shard", "turns that took more than 5 ms"},
    {"cellar_shard_longest_stall_seconds", Type::gauge, "shard", "the longest of them"},
    {"cellar_shard_read_only", Type::gauge, "shard", "1: it takes no writes"},
    {"cellar_shard_read_only_start", Type::gauge, "shard",
     "1: it takes none since its start, because the disk had no room for one"},
    {"cellar_oldest_io_seconds", Type::gauge, "shard",
     "age of the oldest read, write or sync that the disk has not answered"},
    // ---- memory
    {"cellar_memory_bytes", Type::gauge, "kind",
     "memtables, block cache, metadata of tables on disk, what waits for the log's disk, answers, "
     "requests"},
    {"cellar_memory_limit_bytes", Type::gauge, "", "memory.total"},
    {"cellar_tokens", Type::gauge, "shard", "idempotency tokens remembered"},
    // ---- cache and device
    {"cellar_cache_hits_total", Type::counter, "shard", "blocks found in the cache"},
    {"cellar_cache_packed_hits_total", Type::counter, "shard",
     "of them, those that had to be unpacked"},
    {"cellar_cache_packed_bytes", Type::gauge, "shard", "of packed blocks in the cache"},
    {"cellar_cache_misses_total", Type::counter, "shard", "blocks not found there"},
    {"cellar_cache_evictions_total", Type::counter, "shard", "blocks that made room"},
    {"cellar_device_reads_total", Type::counter, "shard", "reads of blocks from the device"},
    {"cellar_device_read_bytes_total", Type::counter, "shard", "bytes of them"},
    {"cellar_device_read_errors_total", Type::counter, "shard", "reads that failed"},
    {"cellar_checksum_errors_total", Type::counter, "shard", "blocks whose bytes were wrong"},
    // ---- log, flush, compaction
    {"cellar_log_bytes", Type::gauge, "shard",
     "segments of the log on disk, those kept for reuse included"},
    {"cellar_pinned_memtable_bytes", Type::gauge, "shard",
     "of memtables that are flushed and that reads still hold"},
    {"cellar_commits_total", Type::counter, "shard", "commits taken"},
    {"cellar_flushes_total", Type::counter, "shard", "memtables written to tables on disk"},
    {"cellar_compactions_total", Type::counter, "shard", "merges that ended"},
    {"cellar_compactions_running", Type::gauge, "shard", "merges at work"},
    {"cellar_reclaim_turns_total", Type::counter, "shard", "looks for something to reclaim"},
    {"cellar_sstables", Type::gauge, "shard", "tables on disk"},
    {"cellar_sstable_bytes", Type::gauge, "shard", "bytes of them"},
    {"cellar_sstable_zstd_bytes", Type::gauge, "shard",
     "of these, of tables on disk that Zstandard has packed"},
    {"cellar_tablets", Type::gauge, "shard", "tablets served"},
    {"cellar_replayed_commits", Type::gauge, "shard", "at the last start"},
    {"cellar_torn_tail_bytes", Type::gauge, "shard",
     "unacknowledged bytes at the log's end that the last start discarded"},
    // ---- tables
    {"cellar_table_live_bytes", Type::gauge, "table",
     "on disk and in memory, not known to be dead"},
    {"cellar_table_dead_bytes", Type::gauge, "table",
     "dead and still on disk or in a memtable, about"},
    {"cellar_table_overdue_bytes", Type::gauge, "table",
     "of the dead bytes: for longer than reclaim_within"},
    {"cellar_table_pinned_bytes", Type::gauge, "table",
     "of files that were replaced and are still read, copied by a backup, or not removed"},
    {"cellar_table_damaged_sstables", Type::gauge, "table",
     "tables on disk that were found damaged since the start: no merge reads them"},
    {"cellar_table_deadline_missed_seconds", Type::gauge, "table",
     "for how long its reclaim deadline is missed; 0: it is met"},
    {"cellar_table_oldest_dead_seconds", Type::gauge, "table",
     "for how long the oldest dead cell on disk is dead; 0: none is"},
    {"cellar_table_next_reclaim_seconds", Type::gauge, "table",
     "until something of it is due to be reclaimed; absent: not known, or nothing to come"},
    {"cellar_table_zstd_bytes", Type::gauge, "table",
     "on disk, of its tables there that Zstandard has packed"},
    {"cellar_table_unflushed_bytes", Type::gauge, "table", "in memtables"},
    {"cellar_table_tablets", Type::gauge, "table", "parts that it is cut into"},
    {"cellar_table_reads_total", Type::counter, "table",
     "cursors opened, since its tablets were opened where they are"},
    {"cellar_table_writes_total", Type::counter, "table", "commits, likewise"},
    // ---- clock
    {"cellar_clock_held_seconds", Type::gauge, "",
     "how far trusted time is held behind the wall clock; 0: it is not"},
    {"cellar_clock_lag_seconds", Type::gauge, "",
     "how far trusted time lags because no anchor could be written; past 10 reads are refused"},
    {"cellar_clock_synchronised", Type::gauge, "",
     "1: the kernel says that its clock is kept right"},
    {"cellar_clock_trusted_timestamp_seconds", Type::gauge, "",
     "trusted time since the Unix epoch"},
};

const Metric* find(std::string_view name) {
  const auto at = std::ranges::find(kMetrics, name, &Metric::name);
  return at == std::end(kMetrics) ? nullptr : &*at;
}

}  // namespace

std::span<const Metric> metrics() { return kMetrics; }

std::string_view name_of(Metric::Type type) {
  switch (type) {
    case Type::counter:
      return "counter";
    case Type::gauge:
      return "gauge";
    case Type::histogram:
      return "histogram";
  }
  return "untyped";
}

std::string metrics_page() {
  std::string page =
      "# Metrics\n\nWhat `/metrics` gives, in the Prometheus text format. This page is written "
      "from "
      "the table in `metric_table.cc`; a test compares.\n\nTables beyond the 50 biggest are added "
      "up "
      "under `table=\"other\"`. Series of an operation appear with its first request. Percentiles "
      "of "
      "`cellar_request_duration_seconds`: buckets double from 64 us to 8.4 s.\n\n"
      "| metric | type | labels | meaning |\n|---|---|---|---|\n";
  for (const Metric& metric : kMetrics) {
    page += fmt::format("| `{}` | {} | {} | {} |\n", metric.name, name_of(metric.type),
                        metric.labels, metric.help);
  }
  return page;
}

void MetricsText::family(std::string_view name) {
  const Metric* metric = find(name);
  CHECK(metric != nullptr, "{} is not in the table of metrics", name);
  at_ = metric->name;
  text_ +=
      fmt::format("# HELP {} {}\n# TYPE {} {}\n", at_, metric->help, at_, name_of(metric->type));
}

void MetricsText::sample(std::string_view labels, double value, std::string_view suffix) {
  const std::string_view open = labels.empty() ? "" : "{";
  const std::string_view close = labels.empty() ? "" : "}";
  text_ += fmt::format("{}{}{}{}{} {}\n", at_, suffix, open, labels, close, value);
}

void MetricsText::sample(std::string_view labels, uint64_t value, std::string_view suffix) {
  const std::string_view open = labels.empty() ? "" : "{";
  const std::string_view close = labels.empty() ? "" : "}";
  text_ += fmt::format("{}{}{}{}{} {}\n", at_, suffix, open, labels, close, value);
}

void MetricsText::plain(std::string_view name, uint64_t value) {
  family(name);
  sample("", value);
}

void MetricsText::seconds(std::string_view name, int64_t us) {
  family(name);
  sample("", static_cast<double>(us) / 1e6);
}

std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out.push_back('\\');
    if (c == '\n') {
      out += "\\n";
    } else {
      out.push_back(c);
    }
  }
  return out;
}

}  // namespace cellar::http
