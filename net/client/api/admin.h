// Tables and the node, as a client states and sees them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/types.h"

namespace cellar::client {

// When a cell dies (SEMANTICS 3). A tree.
struct RetentionRule {
  enum class Kind : uint8_t { max_versions = 1, max_age = 2, any = 3, all = 4 };  // as on the wire
  Kind kind = Kind::max_versions;
  int64_t value = 0;                 // versions, or microseconds
  std::vector<RetentionRule> parts;  // any: the contract's union; all: its intersection

  static RetentionRule max_versions(int64_t n) { return {Kind::max_versions, n, {}}; }
  static RetentionRule max_age_us(int64_t us) { return {Kind::max_age, us, {}}; }
  static RetentionRule any_of(std::vector<RetentionRule> p) { return {Kind::any, 0, std::move(p)}; }
  static RetentionRule all_of(std::vector<RetentionRule> p) { return {Kind::all, 0, std::move(p)}; }
};

enum class TimestampMeaning : uint8_t { time = 0, expiry = 1, sequence = 2 };
enum class BornDead : uint8_t { refuse = 0, accept = 1 };
enum class Profile : uint8_t { none = 0, bigtable = 1, tablestore = 2 };
enum class Compression : uint8_t { none = 0, lz4 = 1 };
enum class Compaction : uint8_t { automatic = 0, levelled = 1, time_window = 2 };
enum class BottomCompression : uint8_t { automatic = 0, same = 1, zstd = 2 };

struct WriteWindow {
  std::optional<int64_t> past_us, future_us;  // absent: no bound on that side
  bool whole_seconds = false;
};

// What is absent takes the default at creation and stays as it is in an alteration.
struct FamilySpec {
  std::string name;
  bool rule_given = false;
  std::optional<RetentionRule> rule;  // with rule_given; absent: keep everything
  std::optional<TimestampMeaning> timestamps;
  std::optional<BornDead> born_dead;
  std::optional<WriteWindow> window;
  std::optional<int64_t> undo_window_us;
  // Of a description: the part came from the table's profile, and no request has named it since.
  bool born_dead_from_profile = false;
  bool window_from_profile = false;
};

struct TableOptions {
  std::optional<Durability> durability;
  std::optional<Compression> compression;
  std::optional<uint32_t> block_bytes;
  std::optional<int64_t> reclaim_within_us;             // dead bytes leave the disk within
  std::optional<double> dead_slack;                     // a share of live bytes that may stay dead
  std::optional<double> reclaim_share;                  // of the disk's write rate
  std::optional<Compaction> compaction;                 // which runs of a tablet are merged
  std::optional<BottomCompression> bottom_compression;  // of files with nothing older below them
};

struct TableSpec {
  std::string name;
  std::optional<Granularity> granularity;
  Profile profile = Profile::none;
  std::vector<FamilySpec> families;
  TableOptions options;
  std::vector<std::string> splits;  // rows at which tablets begin
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
  std::string start, end;  // empty: from the beginning, to the end
  uint32_t shard = 0;
};

// A change of a family's rule that can still be undone.
struct UndoWindow {
  std::string family;
  std::optional<RetentionRule> replaced;  // the rule before; absent: keep everything
  int64_t changed_us = 0;                 // when
  int64_t until_us = 0;                   // up to which trusted time it can be undone
};

struct TableDescription {
  std::string name;
  uint64_t table_id = 0;
  uint64_t version = 0;  // of the schema
  Granularity granularity = Granularity::millis;
  Profile profile = Profile::none;
  std::vector<FamilySpec> families;  // by name
  TableOptions options;
  std::vector<TabletDescription> tablets;  // by start
  std::vector<UndoWindow> undo_windows;    // those that are open, by family, newest first
};

// A rule of a family, and when it was in force.
struct RuleEra {
  std::optional<RetentionRule> rule;  // absent: keep everything
  int64_t since_us = 0;               // 0: from as far back as is remembered
  int64_t until_us = 0;               // 0: it is in force
  int64_t undo_until_us = 0;  // up to when the change that began it can be undone; 0: it cannot
};

// What was undone is not in it. What nothing on disk remembers may be forgotten; the audit trail
// has it longer.
struct RuleHistory {
  uint64_t version = 0;        // of the table's schema
  std::vector<RuleEra> eras;   // newest first; the first is in force
  int64_t undo_window_us = 0;  // of the family: of changes to come
  int64_t now_us = 0;          // the node's trusted time
};

// Takes the newest change of a family's rule back that can still be undone.
struct UndoRule {
  std::string table;
  std::string family;
  uint64_t expected_version = 0;  // refused when the schema has another; 0: any
};

struct TableSummary {
  std::string name;
  uint64_t table_id = 0;
  uint32_t tablets = 0;
  uint32_t families = 0;
  bool dropped = false;
  // Of a dropped one: when, up to which trusted time it can be restored, bytes held for it, about.
  int64_t dropped_us = 0;
  int64_t restorable_until_us = 0;
  uint64_t bytes = 0;
};

struct ListTables {
  std::string prefix;
  bool include_dropped = false;
};

// ---- the audit trail: changes of schemas and rules

enum class AuditAction : uint8_t {  // as on the wire
  create_table = 1,
  drop_table = 2,
  restore_table = 3,
  alter_table = 4,  // its options
  add_family = 5,
  alter_family = 6,
  drop_family = 7,
  undo_rule = 8
};

// A property by its name in the schema, units last; numbers are decimal. Empty: it was not there.
struct AuditDetail {
  std::string name, before, after;
};

struct AuditEntry {
  uint64_t sequence = 0;  // counts up from 1, over all tables
  int64_t at_us = 0;      // trusted time
  AuditAction action = AuditAction::create_table;
  std::string client_name, address;  // who; no name: the node itself
  std::string table;
  uint64_t table_id = 0;
  uint64_t schema_version = 0;  // after the change
  std::string family;           // empty: the change is of the table
  // Where a rule was replaced, made or went; with them an absent rule means: keep everything.
  bool old_rule_given = false;
  bool new_rule_given = false;
  std::optional<RetentionRule> old_rule, new_rule;
  std::vector<AuditDetail> details;  // what else is different
};

// Comes in pages, newest first: asked again with next_before until that is 0.
struct AuditLog {
  std::string table;     // of tables of this name, gone ones too; empty: of all
  int64_t since_us = 0;  // not older
  uint64_t before = 0;
  uint32_t limit = 100;  // 1 to 1000
};
struct AuditPage {
  std::vector<AuditEntry> entries;
  uint64_t next_before = 0;
  uint64_t oldest = 0;  // the number of the oldest entry that is kept of all; 0: there is none
};

// A tablet with what is known of it.
struct TabletInfo : TabletDescription {
  std::string table;
  uint64_t bytes = 0;            // on disk within its rows, about, and what was written since
  uint64_t unflushed_bytes = 0;  // of these, in memory alone
  uint64_t tables = 0, runs = 0;
  Compaction compaction = Compaction::automatic;  // at work; automatic: an older node does not say
  uint64_t reads = 0, writes = 0;                 // since it was opened on its shard
  int64_t last_commit_us = 0;                     // 0: none is known
  bool held = false;  // writes wait for the end of a split, merge or move
};

// Comes in pages: asked again with next_table and next_row until next_table is 0.
struct ListTablets {
  std::string table;  // empty: of all tables
  uint64_t from_table = 0;
  std::string from_row;
  uint32_t limit = 1000;  // 1 to 10,000
};
struct TabletPage {
  std::vector<TabletInfo> tablets;  // by table, then start
  uint64_t next_table = 0;
  std::string next_row;
};

struct SplitTablet {
  std::string table;       // empty: whichever the tablet is of
  uint64_t tablet_id = 0;  // 0: the one that holds `row`
  std::string row;         // the right part's first row; empty: the node chooses
};

// What would a rule of a family hide or kill? Refused as the alteration would be.
struct PreviewRule {
  std::string table;
  std::string family;
  std::optional<RetentionRule> rule;  // absent: keep everything
  uint32_t samples = 10;              // of rows, at most; up to 1000
  // true: at once, from what is known of files; false: every row is looked at.
  bool approximate = false;
  bool close_oldest_undo_window = false;  // as of TableChange
};

struct PreviewCounts {
  uint64_t cells = 0;
  uint64_t bytes = 0;  // of their keys and values, before any compression
  uint64_t rows = 0;   // that lose at least one cell
};
// What was counted so far.
struct PreviewProgress : PreviewCounts {
  uint64_t rows_seen = 0;
  uint64_t rows_about = 0;  // of the table, by its files: rows in several count as often
};
struct PreviewReply : PreviewCounts {
  std::vector<std::string> samples;  // keys of such rows
  uint64_t cells_seen = 0;           // that can be read now, of all families
  uint64_t rows_seen = 0;
  // Loosening the rule within so long brings all of it back; 0: it is dead at once.
  int64_t undo_window_us = 0;
  bool approximate = false;   // the counts are a guess
  PreviewCounts least, most;  // between these; equal to the counts where they are exact
};

struct SplitPoint {
  std::string key;  // empty: the end of the table
  uint64_t bytes_before = 0;
};

struct Pong {
  int64_t now_us = 0;  // the node's trusted clock
};

// How time stands on a node (SEMANTICS 3).
struct ClockReport {
  int64_t trusted_us = 0, wall_us = 0;
  int64_t held_us = 0;           // how far the wall clock is ahead of trusted time; 0: none is held
  bool synchronised = false;     // the kernel of the node says so of its clock
  int64_t steady_us = 0;         // for how long the wall clock has been synchronised and consistent
  int64_t release_after_us = 0;  // held time is released by itself when steady_us reaches it
  int64_t lag_us = 0;            // how far trusted time lags because no anchor could be written
  bool stands = false;           // until another start: answers are as of trusted_us
};

struct ShardStats {
  uint64_t tablets = 0, tables_on_disk = 0, table_bytes = 0, log_bytes = 0, memtable_bytes = 0;
  uint64_t cache_bytes = 0, metadata_bytes = 0, commits = 0, flushes = 0, compactions = 0;
  uint64_t torn_tail_bytes = 0, replayed_commits = 0, requests = 0, requests_handed_over = 0;
  uint32_t connections = 0;
  bool read_only = false;
  uint64_t cache_packed_bytes = 0, zstd_bytes = 0;  // 0, too, where an older node does not say
};

struct ServerInfo {
  std::string version, data_dir, io_backend, io_reason;
  uint32_t shards = 0;
  int64_t uptime_us = 0, now_us = 0, wall_us = 0, held_us = 0;
  int64_t lag_us = 0;             // how far trusted time lags because no anchor could be written
  bool stands = false;            // until another start: answers are as of now_us
  std::vector<ShardStats> stats;  // one a shard
  uint64_t memory_bytes = 0, memtable_limit_bytes = 0, cell_bytes = 0, row_bytes = 0,
           frame_bytes = 0;
  uint64_t replayed_commits = 0, replayed_bytes = 0, torn_tail_bytes = 0, orphans_removed = 0;
  int64_t recovery_us = 0;  // how long the last start took to recover
};

}  // namespace cellar::client
