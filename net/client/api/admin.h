// Client-side types for tables and the node.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/types.h"
#include "net/client/api/indexes.h"

namespace cellar::client {

// A retention rule (SEMANTICS 3). A tree.
struct RetentionRule {
  enum class Kind : uint8_t { max_versions = 1, max_age = 2, any = 3, all = 4 };  // as on the wire
  Kind kind = Kind::max_versions;
  int64_t value = 0;                 // versions, or microseconds
  std::vector<RetentionRule> parts;  // any: union of the contract; all: intersection

  static RetentionRule max_versions(int64_t n) { return {Kind::max_versions, n, {}}; }
  static RetentionRule max_age_us(int64_t us) { return {Kind::max_age, us, {}}; }
  static RetentionRule any_of(std::vector<RetentionRule> p) { return {Kind::any, 0, std::move(p)}; }
  static RetentionRule all_of(std::vector<RetentionRule> p) { return {Kind::all, 0, std::move(p)}; }
};

enum class TimestampMeaning : uint8_t { time = 0, expiry = 1, sequence = 2 };
enum class BornDead : uint8_t { refuse = 0, accept = 1 };
enum class Profile : uint8_t { none = 0, bigtable = 1, tablestore = 2 };
enum class Compression : uint8_t { none = 0, lz4 = 1 };
enum class Compaction : uint8_t { automatic = 0, tiered = 1, time_window = 2 };
enum class BottomCompression : uint8_t { automatic = 0, same = 1, zstd = 2 };

struct WriteWindow {
  std::optional<int64_t> past_us, future_us;  // absent: unbounded on that side
  bool whole_seconds = false;
};

// Absent parts take the default at creation and stay unchanged in an alteration.
struct FamilySpec {
  std::string name;
  bool rule_given = false;
  std::optional<RetentionRule> rule;  // used if rule_given; absent: keep everything
  std::optional<TimestampMeaning> timestamps;
  std::optional<BornDead> born_dead;
  std::optional<WriteWindow> window;
  std::optional<int64_t> undo_window_us;
  // In descriptions: the part came from the table's profile, and no request has set it since.
  bool born_dead_from_profile = false;
  bool window_from_profile = false;
};

struct TableOptions {
  std::optional<Durability> durability;
  std::optional<Compression> compression;
  std::optional<uint32_t> block_bytes;
  std::optional<int64_t> reclaim_within_us;  // time within which dead bytes leave the disk
  std::optional<double> dead_slack;          // share of live bytes that may stay dead
  std::optional<double> reclaim_share;       // of the disk's write rate
  std::optional<Compaction> compaction;      // selects the runs of a tablet to merge
  // of bottommost files, with no older data below
  std::optional<BottomCompression> bottom_compression;
};

struct TableSpec {
  std::string name;
  std::optional<Granularity> granularity;
  Profile profile = Profile::none;
  std::vector<FamilySpec> families;
  TableOptions options;
  std::vector<std::string> splits;  // first rows of the tablets
};

struct TableChange {
  std::string name;
  std::vector<FamilySpec> add, alter;
  std::vector<std::string> drop;
  TableOptions options;
  bool close_oldest_undo_window = false;
};

struct TabletDescription {
  uint64_t tablet_id = 0;
  uint64_t epoch = 0;
  std::string start, end;  // empty: start or end of the table
  uint32_t shard = 0;
};

// A rule change that can still be undone.
struct UndoWindow {
  std::string family;
  std::optional<RetentionRule> replaced;  // previous rule; absent: keep everything
  int64_t changed_us = 0;                 // time of the change
  int64_t until_us = 0;                   // trusted time at which undo ends
};

struct TableDescription {
  std::string name;
  uint64_t table_id = 0;
  uint64_t version = 0;  // of the schema
  Granularity granularity = Granularity::millis;
  Profile profile = Profile::none;
  std::vector<FamilySpec> families;  // sorted by name
  TableOptions options;
  std::vector<TabletDescription> tablets;  // sorted by start
  std::vector<UndoWindow> undo_windows;    // open ones, sorted by family, newest first
  std::vector<IndexSpec> indexes;          // sorted by name
};

// A rule of a family and the time it was in force.
struct RuleEra {
  std::optional<RetentionRule> rule;  // absent: keep everything
  int64_t since_us = 0;               // 0: unknown or from the beginning
  int64_t until_us = 0;               // 0: still in force
  int64_t undo_until_us = 0;  // until when the change that started it can be undone; 0: it cannot
};

// Undone changes are not included. Eras with no trace on disk may be missing; the audit trail keeps
// them longer.
struct RuleHistory {
  uint64_t version = 0;        // of the table's schema
  std::vector<RuleEra> eras;   // newest first; the first one is in force
  int64_t undo_window_us = 0;  // of the family, for future changes
  int64_t now_us = 0;          // the node's trusted time
};

// Reverts the newest change of a family's rule that can still be undone.
struct UndoRule {
  std::string table;
  std::string family;
  uint64_t expected_version = 0;  // refused if the schema has another version; 0: any
};

struct TableSummary {
  std::string name;
  uint64_t table_id = 0;
  uint32_t tablets = 0;
  uint32_t families = 0;
  bool dropped = false;
  // For a dropped table: the time of the drop, the trusted time until which it can be restored, and
  // its approximate size.
  int64_t dropped_us = 0;
  int64_t restorable_until_us = 0;
  uint64_t bytes = 0;
};

struct ListTables {
  std::string prefix;
  bool include_dropped = false;
};

// ---- audit trail: changes of schemas and rules

enum class AuditAction : uint8_t {  // as on the wire
  create_table = 1,
  drop_table = 2,
  restore_table = 3,
  alter_table = 4,  // table options
  add_family = 5,
  alter_family = 6,
  drop_family = 7,
  undo_rule = 8,
  // The first detail is "index", its name before and after the change.
  create_index = 9,
  alter_index = 10,
  drop_index = 11
};

// A property by its name in the schema, unit last; numbers are decimal. Empty: absent.
struct AuditDetail {
  std::string name, before, after;
};

struct AuditEntry {
  uint64_t sequence = 0;  // counts from 1, over all tables
  int64_t at_us = 0;      // trusted time
  AuditAction action = AuditAction::create_table;
  std::string client_name, address;  // the client; no name: the node itself
  std::string table;
  uint64_t table_id = 0;
  uint64_t schema_version = 0;  // after the change
  std::string family;           // empty: the table changed
  // Set if a rule was created, replaced or removed; an absent rule then means: keep everything.
  bool old_rule_given = false;
  bool new_rule_given = false;
  std::optional<RetentionRule> old_rule, new_rule;
  std::vector<AuditDetail> details;  // the other differences
};

// Returned in pages, newest first: ask again with next_before until that is 0.
struct AuditLog {
  std::string table;     // tables of this name, including dropped ones; empty: all
  int64_t since_us = 0;  // lower bound of the time
  uint64_t before = 0;
  uint32_t limit = 100;  // 1 to 1000
};
struct AuditPage {
  std::vector<AuditEntry> entries;
  uint64_t next_before = 0;
  uint64_t oldest = 0;  // number of the oldest entry still kept; 0: there is none
};

// A tablet with its figures.
struct TabletInfo : TabletDescription {
  std::string table;
  uint64_t bytes = 0;            // approximate bytes on disk within its rows plus recent writes
  uint64_t unflushed_bytes = 0;  // part of `bytes` that is in memory only
  uint64_t tables = 0, runs = 0;
  // in use; automatic: an older node does not report it
  Compaction compaction = Compaction::automatic;
  uint64_t reads = 0, writes = 0;  // since it was opened on its shard
  int64_t last_commit_us = 0;      // 0: unknown
  bool held = false;               // writes wait for the end of a split, merge or move
};

// Returned in pages: ask again with next_table and next_row until next_table is 0.
struct ListTablets {
  std::string table;  // empty: all tables
  uint64_t from_table = 0;
  std::string from_row;
  uint32_t limit = 1000;  // 1 to 10,000
};
struct TabletPage {
  std::vector<TabletInfo> tablets;  // sorted by table, then start
  uint64_t next_table = 0;
  std::string next_row;
};

struct SplitTablet {
  std::string table;       // empty: determined by the tablet
  uint64_t tablet_id = 0;  // 0: the tablet that contains `row`
  std::string row;         // first row of the right part; empty: the node chooses
};

// Asks what a rule of a family would hide or delete. Refused in the same cases as the alteration.
struct PreviewRule {
  std::string table;
  std::string family;
  std::optional<RetentionRule> rule;  // absent: keep everything
  uint32_t samples = 10;              // upper bound of sample rows; up to 1000
  // true: estimated from file statistics, fast; false: reads every row.
  bool approximate = false;
  bool close_oldest_undo_window = false;  // see TableChange
};

struct PreviewCounts {
  uint64_t cells = 0;
  uint64_t bytes = 0;  // of their keys and values, uncompressed
  uint64_t rows = 0;   // rows that lose at least one cell
};
// Counts so far.
struct PreviewProgress : PreviewCounts {
  uint64_t rows_seen = 0;
  // approximate rows of the table by file; rows in several files count repeatedly
  uint64_t rows_about = 0;
};
struct PreviewReply : PreviewCounts {
  std::vector<std::string> samples;  // keys of such rows
  uint64_t cells_seen = 0;           // cells readable now, in all families
  uint64_t rows_seen = 0;
  // Time in which loosening the rule restores all of it; 0: deletion takes effect at once.
  int64_t undo_window_us = 0;
  bool approximate = false;   // the counts are estimates
  PreviewCounts least, most;  // bounds of the counts; equal to them if exact
};

struct SplitPoint {
  std::string key;  // empty: end of the table
  uint64_t bytes_before = 0;
};

struct Pong {
  int64_t now_us = 0;  // the node's trusted clock
};

// The clock state of a node (SEMANTICS 3).
struct ClockReport {
  int64_t trusted_us = 0, wall_us = 0;
  int64_t held_us = 0;           // how far the wall clock is ahead of trusted time; 0: none held
  bool synchronised = false;     // as reported by the node's kernel
  int64_t steady_us = 0;         // how long the wall clock has been synchronised and consistent
  int64_t release_after_us = 0;  // held time is released automatically when steady_us reaches this
  int64_t lag_us = 0;            // lag of trusted time because no anchor could be written
  bool stands = false;           // until the next start, answers are as of trusted_us
};

struct ShardStats {
  uint64_t tablets = 0, tables_on_disk = 0, table_bytes = 0, log_bytes = 0, memtable_bytes = 0;
  uint64_t cache_bytes = 0, metadata_bytes = 0, commits = 0, flushes = 0, compactions = 0;
  uint64_t torn_tail_bytes = 0, replayed_commits = 0, requests = 0, requests_handed_over = 0;
  uint32_t connections = 0;
  bool read_only = false;
  // Also 0 if an older node does not report it.
  uint64_t cache_packed_bytes = 0, zstd_bytes = 0;
  uint64_t released_bytes = 0, token_bytes = 0, free_bytes = 0;
  uint64_t row_cache_bytes = 0, row_hits = 0, row_misses = 0, withheld_bytes = 0;
};

struct ServerInfo {
  std::string version, data_dir, io_backend, io_reason;
  uint32_t shards = 0;
  int64_t uptime_us = 0, now_us = 0, wall_us = 0, held_us = 0;
  int64_t lag_us = 0;             // lag of trusted time because no anchor could be written
  bool stands = false;            // until the next start, answers are as of now_us
  std::vector<ShardStats> stats;  // one per shard
  uint64_t memory_bytes = 0, memtable_limit_bytes = 0, cell_bytes = 0, row_bytes = 0,
           frame_bytes = 0;
  uint64_t requests_bytes = 0, answers_bytes = 0;  // memory; also 0 if an older node does not say
  uint64_t replayed_commits = 0, replayed_bytes = 0, torn_tail_bytes = 0, orphans_removed = 0;
  int64_t recovery_us = 0;  // duration of the last recovery
};

}  // namespace cellar::client
