// Node: a whole data directory, open: the catalog and one Engine per shard. Built on shard 0; its
// coroutines may be awaited on any shard and resume there. Catalog changes are serialised on shard
// 0, durable in one manifest edit, and known to every shard before they are answered.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/options.h"
#include "engine/store/blob_store.h"
#include "engine/store/log_store.h"
#include "engine/store/manifest_store.h"
#include "engine/table_map.h"
#include "io/runtime/mailbox.h"
#include "io/runtime/runtime.h"

namespace cellar::engine {

// What one shard brings. References outlive the node; each belongs to its shard.
struct ShardEnv {
  Runtime runtime;
  LogStore& logs;
  BlobStore& blobs;
};

struct FamilySpec {
  std::string name;
};

struct TableSpec {
  std::string name;
  Granularity granularity = Granularity::millis;
  TableOptions options;
  std::vector<FamilySpec> families;
  std::vector<std::string>
      splits;  // rows at which tablets begin; sorted and distinct after validation
};

// What is absent stays as it is.
struct OptionsChange {
  std::optional<Durability> durability;
  std::optional<Compression> compression;  // of tables written from now on
  std::optional<uint32_t> block_bytes;     // likewise
  void apply_to(TableOptions& options) const;
};

struct TableChange {
  std::string name;
  std::vector<FamilySpec> add;
  std::vector<std::string> alter;  // families that must exist; nothing of them can be changed yet
  std::vector<std::string> drop;   // their cells are dead at once
  OptionsChange options;
};

// INVALID_ARGUMENT: a name or an option that cannot be, a family named twice.
Result<void> validate_change(const TableChange& change);

// NOT_FOUND: the table, or a family to alter or drop. ALREADY_EXISTS: a family to add.
Result<void> check_exists(const TableChange& change, const TableMap& tables);

// A part of a table, in the order of its rows.
struct TabletSize {
  std::string end;  // first row after it; empty: to the end of the table
  uint64_t bytes = 0;
};

struct RecoveryReport {
  uint64_t replayed_commits = 0;
  uint64_t replayed_bytes = 0;
  uint64_t torn_tail_bytes = 0;
  uint64_t orphans_removed = 0;  // blobs that no manifest names
  int64_t elapsed_us = 0;
};

class Node {
 public:
  virtual ~Node() = default;

  // Loads the manifest, replays the logs of earlier sessions into memtables, begins new logs,
  // removes orphans. REQUIRES: runs on shard 0; shards[i] is shard i; `mailboxes` connects them.
  // The store of the manifest is shard 0's. DATA_LOSS when a log is damaged below its durable mark
  // or the manifest is damaged: the sentence says where.
  static Async<Result<std::unique_ptr<Node>>> open(EngineOptions options,
                                                   std::vector<ShardEnv> shards,
                                                   ManifestStore& manifest, Mailboxes& mailboxes);

  // ---- on the shard that asks ----
  virtual Engine& engine(ShardId shard) = 0;                // call only on that shard
  virtual const TableMap& tables(ShardId shard) const = 0;  // that shard's copy

  // ---- catalog and admin; `from` is the shard that asks and on which the answer resumes ----
  virtual Async<Result<TableEntry>> create_table(ShardId from,
                                                 TableSpec spec) = 0;  // ALREADY_EXISTS
  // All of it or nothing, durable in one manifest edit and in force in every tablet before the
  // answer: the table as it is then. A change of nothing succeeds and changes no version. Refusals,
  // in this order: INVALID_ARGUMENT (validate_change), NOT_FOUND (table, family to drop or alter),
  // ALREADY_EXISTS (family to add). A family that was dropped and is added again is empty.
  virtual Async<Result<TableEntry>> alter_table(ShardId from, TableChange change) = 0;
  virtual Async<Result<void>> drop_table(ShardId from, std::string name) = 0;  // NOT_FOUND
  virtual Async<Result<void>> flush_table(ShardId from, std::string name) = 0;
  virtual Async<Result<void>> compact_table(ShardId from, std::string name) = 0;
  // The tablets of a table and about how many bytes each takes. NOT_FOUND; ABORTED when the table
  // is dropped meanwhile.
  virtual Async<Result<std::vector<TabletSize>>> tablet_sizes(ShardId from, TableId table) = 0;
  virtual Async<std::vector<EngineStats>> stats(ShardId from) = 0;  // one a shard
  virtual const RecoveryReport& recovery() const = 0;

  // Flushes every memtable, seals the logs, closes the manifest. No call may be in flight or
  // follow.
  virtual Async<Result<void>> close() = 0;
};

}  // namespace cellar::engine
