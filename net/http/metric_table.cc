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
    // ---- process and machine
    {"cellar_process_cpu_seconds_total", Type::counter, "", "processor time of the process"},
    {"cellar_process_resident_bytes", Type::gauge, "", "resident memory of the process"},
    {"cellar_process_open_descriptors", Type::gauge, "", "open files and sockets"},
    {"cellar_process_descriptor_limit", Type::gauge, "", "open files and sockets that it may have"},
    {"cellar_disk_free_bytes", Type::gauge, "",
     "free space on the disk of data_dir; absent: unknown"},
    {"cellar_disk_reserve_bytes", Type::gauge, "",
     "disk.reserve: with less free space only writes that free space are accepted"},
    {"cellar_certificate_expiry_timestamp_seconds", Type::gauge, "",
     "when the node's certificate expires, since the Unix epoch; absent: no TLS"},
    {"cellar_backups_total", Type::counter, "result", "backups since the start: taken, failed"},
    {"cellar_backup_newest_timestamp_seconds", Type::gauge, "",
     "when the newest known backup was taken, since the Unix epoch; absent: none is known"},
    // ---- requests
    {"cellar_requests_total", Type::counter, "op,code", "answered requests"},
    {"cellar_request_duration_seconds", Type::histogram, "op",
     "time from the receipt of a request to its last answer at the socket"},
    {"cellar_slow_requests_total", Type::counter, "shard",
     "requests that took slow_request or longer"},
    {"cellar_requests_in_flight", Type::gauge, "shard", "requests in flight"},
    {"cellar_requests_handed_over_total", Type::counter, "shard",
     "requests of a connection here whose tablet another shard serves"},
    {"cellar_received_bytes_total", Type::counter, "shard", "bytes of the protocol"},
    {"cellar_sent_bytes_total", Type::counter, "shard", "bytes of the protocol"},
    // ---- sessions
    {"cellar_sessions", Type::gauge, "shard", "open connections"},
    {"cellar_sessions_accepted_total", Type::counter, "shard", "accepted connections"},
    {"cellar_sessions_taken_over_total", Type::counter, "shard",
     "connections whose hello named this shard and that another shard accepted"},
    {"cellar_sessions_refused_total", Type::counter, "shard",
     "connections closed at limits.connections or while the node stops"},
    {"cellar_sessions_malformed_total", Type::counter, "shard",
     "connections closed because of an invalid preface or frame"},
    // ---- queues
    {"cellar_scans", Type::gauge, "shard", "open streams"},
    {"cellar_queued_slices", Type::gauge, "shard", "reads that wait for their next slice"},
    {"cellar_slices_total", Type::counter, "shard", "slices of reads that were run"},
    {"cellar_cursors_released_total", Type::counter, "shard",
     "released cursors of waiting streams"},
    {"cellar_held_request_bytes", Type::gauge, "shard",
     "bytes of request bodies that are kept after they were read"},
    {"cellar_pending_reply_bytes", Type::gauge, "shard",
     "bytes of answers that clients have not received"},
    {"cellar_mailbox_overflows_total", Type::counter, "shard",
     "messages to other shards that had to wait for room"},
    // ---- shards
    {"cellar_shard_idle_seconds_total", Type::counter, "shard", "time the loop slept"},
    {"cellar_shard_turns_total", Type::counter, "shard", "turns of the loop"},
    {"cellar_shard_stalls_total", Type::counter, "shard", "turns that took more than 5 ms"},
    {"cellar_shard_longest_stall_seconds", Type::gauge, "shard",
     "longest turn that took more than 5 ms"},
    {"cellar_shard_read_only", Type::gauge, "shard", "1: the shard accepts no writes"},
    {"cellar_shard_read_only_start", Type::gauge, "shard",
     "1: the shard accepts no writes since its start, because the disk was full"},
    {"cellar_oldest_io_seconds", Type::gauge, "shard",
     "age of the oldest read, write or sync that the disk has not answered"},
    // ---- memory
    {"cellar_memory_bytes", Type::gauge, "kind",
     "memtables, memory of flushed memtables that is not freed yet, block cache, metadata of "
     "tables on disk, tokens, what is free for any of these, what is withheld from the cache, "
     "results of point reads, what waits for the log's disk, answers, requests"},
    {"cellar_memory_limit_bytes", Type::gauge, "", "memory.total"},
    {"cellar_tokens", Type::gauge, "shard", "idempotency tokens remembered"},
    // ---- cache and device
    {"cellar_row_cache_hits_total", Type::counter, "shard",
     "point reads that the row cache answered"},
    {"cellar_row_cache_misses_total", Type::counter, "shard",
     "point reads that the row cache could have answered"},
    {"cellar_cache_hits_total", Type::counter, "shard", "blocks found in the cache"},
    {"cellar_cache_packed_hits_total", Type::counter, "shard", "cache hits that were decompressed"},
    {"cellar_cache_packed_bytes", Type::gauge, "shard", "bytes of compressed blocks in the cache"},
    {"cellar_cache_misses_total", Type::counter, "shard", "blocks not found in the cache"},
    {"cellar_cache_evictions_total", Type::counter, "shard", "evicted blocks"},
    {"cellar_device_reads_total", Type::counter, "shard", "reads of blocks from the device"},
    {"cellar_device_read_bytes_total", Type::counter, "shard",
     "bytes of blocks read from the device"},
    {"cellar_device_read_errors_total", Type::counter, "shard", "reads that failed"},
    {"cellar_checksum_errors_total", Type::counter, "shard", "blocks with a wrong checksum"},
    // ---- log, flush, compaction
    {"cellar_log_bytes", Type::gauge, "shard",
     "segments of the log on disk, those kept for reuse included"},
    {"cellar_pinned_memtable_bytes", Type::gauge, "shard",
     "bytes of flushed memtables that reads still use"},
    {"cellar_commits_total", Type::counter, "shard", "commits"},
    {"cellar_flushes_total", Type::counter, "shard", "memtables written to tables on disk"},
    {"cellar_compactions_total", Type::counter, "shard", "finished merges"},
    {"cellar_compactions_running", Type::gauge, "shard", "running merges"},
    {"cellar_reclaim_turns_total", Type::counter, "shard", "checks for data to reclaim"},
    {"cellar_sstables", Type::gauge, "shard", "tables on disk"},
    {"cellar_sstable_bytes", Type::gauge, "shard", "bytes of tables on disk"},
    {"cellar_sstable_zstd_bytes", Type::gauge, "shard",
     "bytes of tables on disk that are compressed with Zstandard"},
    {"cellar_tablets", Type::gauge, "shard", "tablets served"},
    {"cellar_replayed_commits", Type::gauge, "shard", "commits replayed at the last start"},
    {"cellar_torn_tail_bytes", Type::gauge, "shard",
     "unacknowledged bytes at the log's end that the last start discarded"},
    // ---- verification of tables on disk
    {"cellar_scrub_read_bytes_total", Type::counter, "shard",
     "bytes of tables on disk read and verified by the scrubber"},
    {"cellar_scrub_verified_sstables_total", Type::counter, "shard",
     "tables on disk that the scrubber has read to their end and found whole"},
    {"cellar_scrub_damaged_blocks_total", Type::counter, "shard",
     "damaged blocks found by the scrubber, again in every pass"},
    {"cellar_scrub_read_errors_total", Type::counter, "shard",
     "reads of the scrubber that the device failed"},
    {"cellar_scrub_damaged_sstables", Type::gauge, "shard",
     "tables on disk in use that were damaged or unreadable when last read"},
    {"cellar_scrub_every_seconds", Type::gauge, "",
     "time within which every table on disk is to be verified; 0: never"},
    // ---- tables
    {"cellar_table_live_bytes", Type::gauge, "table",
     "bytes on disk and in memory that are not known to be dead"},
    {"cellar_table_dead_bytes", Type::gauge, "table",
     "approximate dead bytes on disk or in a memtable"},
    {"cellar_table_overdue_bytes", Type::gauge, "table",
     "dead bytes for longer than reclaim_within"},
    {"cellar_table_pinned_bytes", Type::gauge, "table",
     "bytes of replaced files that are still read, copied by a backup, or not removed"},
    {"cellar_table_damaged_sstables", Type::gauge, "table",
     "tables on disk that were found damaged since the start, by reads or by the scrubber"},
    {"cellar_table_verified_age_seconds", Type::gauge, "table",
     "time within which every byte on disk was verified; absent: a file was not read yet, or there "
     "is none"},
    {"cellar_table_deadline_missed_seconds", Type::gauge, "table",
     "time since the reclaim deadline is missed; 0: it is met"},
    {"cellar_table_oldest_dead_seconds", Type::gauge, "table",
     "time since the oldest dead cell on disk died; 0: there is none"},
    {"cellar_table_next_reclaim_seconds", Type::gauge, "table",
     "time until data is due to be reclaimed; absent: unknown, or none"},
    {"cellar_table_zstd_bytes", Type::gauge, "table",
     "bytes of its tables on disk that are compressed with Zstandard"},
    {"cellar_table_unflushed_bytes", Type::gauge, "table", "bytes in memtables"},
    {"cellar_table_tablets", Type::gauge, "table", "tablets"},
    {"cellar_table_reads_total", Type::counter, "table",
     "cursors opened since its tablets were opened on their shards"},
    {"cellar_table_writes_total", Type::counter, "table",
     "commits since its tablets were opened on their shards"},
    // ---- indexes, of the labelled tables
    {"cellar_index_ready", Type::gauge, "table,index", "1: reads through the index are answered"},
    {"cellar_index_done_ratio", Type::gauge, "table,index",
     "share of the table's bytes that have the index's entries"},
    {"cellar_index_entries", Type::gauge, "table,index",
     "entries in memory and on disk, those of dead and replaced cells included"},
    {"cellar_index_bytes", Type::gauge, "table,index", "stored bytes of the entries on disk"},
    {"cellar_index_skipped_cells", Type::gauge, "table,index",
     "cells on disk whose value is not 8 bytes, of an index of 64-bit integers"},
    // ---- clock
    {"cellar_clock_held_seconds", Type::gauge, "",
     "how far trusted time is held behind the wall clock; 0: it is not"},
    {"cellar_clock_lag_seconds", Type::gauge, "",
     "how far trusted time lags because no anchor could be written; past 10 reads are refused"},
    {"cellar_clock_synchronised", Type::gauge, "", "1: the kernel reports a synchronised clock"},
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
