// Node: an open data directory: the catalog and one Engine per shard. Built on shard 0; its
// coroutines may be awaited on any shard and resume there. Catalog changes are serialised on shard
// 0, durable in one manifest edit, and known to every shard before the caller gets its answer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/catalog/audit_trail.h"
#include "engine/catalog/table_change.h"
#include "engine/catalog/table_map.h"
#include "engine/clock_report.h"
#include "engine/engine.h"
#include "engine/index_check.h"
#include "engine/manifest/table_state.h"
#include "engine/options.h"
#include "engine/preview_rule.h"
#include "engine/store/blob_store.h"
#include "engine/store/log_store.h"
#include "engine/store/manifest_store.h"
#include "engine/tablet_figures.h"
#include "io/base/huge_chunks.h"
#include "io/loop/mailbox.h"
#include "io/loop/runtime.h"

namespace cellar::engine {

class BackupStore;
struct BackupProgress;   // engine/backup/backup.h
struct BackupRequest;    // engine/backup/backup.h
struct NodeParts;        // engine/node/node_parts.h
struct ReclaimQuestion;  // engine/node/reclaim_report.h
struct ReclaimReport;    // engine/node/reclaim_report.h
struct RestoreRequest;   // engine/backup/backup.h

// The services of one shard. References must outlive the node; each belongs to its shard.
struct ShardEnv {
  Runtime runtime;
  LogStore& logs;
  BlobStore& blobs;
  HugeChunks* chunks = nullptr;  // for memtables, of all shards; null: they take the heap
};

// One tablet's part of a table; parts come in row order.
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

class Node final {
 public:
  // Made by open() and open_read_only(). After a crash, destroy it after its loops.
  explicit Node(std::unique_ptr<NodeParts> parts);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Loads the manifest, replays the logs of earlier sessions into memtables, begins new logs and
  // removes orphans. REQUIRES: runs on shard 0; shards[i] is shard i; `mailboxes` connects them;
  // the manifest store is shard 0's. DATA_LOSS when a log is damaged below its durable mark or the
  // manifest is damaged; the message names the place.
  static Async<Result<std::unique_ptr<Node>>> open(EngineOptions options,
                                                   std::vector<ShardEnv> shards,
                                                   ManifestStore& manifest, Mailboxes& mailboxes);

  // open() without a single write, for a disk that has no room for a start. Reads are served at one
  // instant: trusted time stays where the last anchor permits. Until the next start everything that
  // writes is refused with `why`, which is UNAVAILABLE. REQUIRES: `manifest` was opened read-only.
  static Async<Result<std::unique_ptr<Node>>> open_read_only(EngineOptions options,
                                                             std::vector<ShardEnv> shards,
                                                             ManifestStore& manifest,
                                                             Mailboxes& mailboxes, Error why);
  // Why the node was started read-only; null: it was not. Callable on any shard; lives as long as
  // the node.
  const Error* read_only_start() const;

  // ---- on the calling shard ----
  Engine& engine(ShardId shard);                // call only on that shard
  const TableMap& tables(ShardId shard) const;  // that shard's copy
  // Called on that shard, where the watcher is also notified; it must outlive the node or be unset
  // with null.
  void watch_tables(ShardId shard, TableMapWatcher* watcher);

  // ---- catalog and admin; `from` is the calling shard, on which the answer resumes. A change of a
  // table is recorded in the audit trail, with `by`, in the same manifest edit.
  Async<Result<TableEntry>> create_table(ShardId from, TableSpec spec,
                                         Author by);  // ALREADY_EXISTS
  // Atomic: durable in one manifest edit and in force in every tablet before the answer, which is
  // the table after the change. An empty change succeeds and increments no version. Errors, in this
  // order: INVALID_ARGUMENT (validate_change), NOT_FOUND (table, family or index to drop or alter),
  // ALREADY_EXISTS (family or index to add); FAILED_PRECONDITION: too many indexes, or one forbids
  // the change of its family (catalog/index_change.h). A family that was dropped and is added again
  // is empty.
  Async<Result<TableEntry>> alter_table(ShardId from, TableChange change, Author by);
  // Restores the state before the newest rule change that can still be undone; in force as after an
  // alteration. NOT_FOUND (table, family). FAILED_PRECONDITION: no undo window is open, the schema
  // does not have the expected version, or the family has since been altered, or an index created,
  // in a way that does not permit the old rule.
  Async<Result<TableEntry>> undo_rule(ShardId from, RuleUndo undo, Author by);
  // Frees the table's name. The table can be restored for the longest undo window of its families;
  // without any undo window it is removed at once. NOT_FOUND.
  Async<Result<void>> drop_table(ShardId from, std::string name, Author by);
  // Restores the dropped table of that name that was dropped last; what has aged since stays dead.
  // NOT_FOUND: there is none, or its undo window is over. ALREADY_EXISTS: a table has the name.
  Async<Result<TableEntry>> restore_table(ShardId from, std::string name, Author by);
  // The dropped tables that can be restored, by id.
  Async<std::vector<DroppedTable>> dropped_tables(ShardId from);
  Async<AuditPage> audit_log(ShardId from, AuditQuery query);
  // What another rule of a family would hide or kill (preview_rule.h); changes nothing. Refused as
  // alter_table() with that rule would be. ABORTED: the table was altered meanwhile; retry. The
  // listener is called on `from` and must live until the answer.
  Async<Result<PreviewReport>> preview_rule(ShardId from, PreviewRequest request,
                                            PreviewListener& listener);
  // The indexes of a table and how far each is built. NOT_FOUND.
  Async<Result<IndexStates>> index_states(ShardId from, std::string table);
  // Compares an index with its table (index_check.h); changes nothing. NOT_FOUND;
  // FAILED_PRECONDITION: it is not ready. The listener is called on `from` and must live until the
  // answer.
  Async<Result<IndexCheckReport>> check_index(ShardId from, std::string table, std::string index,
                                              IndexCheckListener& listener);
  Async<Result<void>> flush_table(ShardId from, std::string name);
  Async<Result<void>> compact_table(ShardId from, std::string name);
  // The tablets of a table and about how many bytes each takes. NOT_FOUND; ABORTED when the table
  // is dropped meanwhile.
  Async<Result<std::vector<TabletSize>>> tablet_sizes(ShardId from, TableId table);
  // ---- reshaping: the split points of a table and the shards of its tablets (reshape.h). One
  // operation at a time, exclusive with changes of the catalog. Reads are served meanwhile; writes
  // to the tablet wait for at most Reshape::kHoldUs. Each operation is durable in one manifest edit
  // and known to every shard before its answer. NOT_FOUND: no such tablet; ABORTED or
  // DEADLINE_EXCEEDED: nothing was changed, retry later; UNAVAILABLE: the shard or the manifest
  // accepts no changes.

  // Splits the tablet before `row`; empty: where the engine estimates half of its bytes, or else
  // half of its load, on either side. Both parts stay on its shard, and no data is copied.
  // OUT_OF_RANGE: the row is the tablet's first or not in it. FAILED_PRECONDITION: no row is known
  // to split at, or the table has kMaxTablets already.
  Async<Result<std::vector<TabletDescriptor>>> split_tablet(ShardId from, TabletId tablet,
                                                            std::string row);
  // Merges two neighbours of a table on the left one's shard; the right one is moved there first if
  // necessary. INVALID_ARGUMENT: they are not neighbours in this order.
  Async<Result<TabletDescriptor>> merge_tablets(ShardId from, TabletId left, TabletId right);
  // Serves the tablet on another shard, with the same id and the next epoch. A tablet that is there
  // already is not changed. INVALID_ARGUMENT: no such shard.
  Async<Result<TabletDescriptor>> move_tablet(ShardId from, TabletId tablet, ShardId to);
  // The figures of a table's tablets, or of all with TableId{}; by table, then start. NOT_FOUND.
  Async<Result<std::vector<TabletFigures>>> tablet_figures(ShardId from, TableId table);

  Async<std::vector<EngineStats>> stats(ShardId from);  // one per shard
  // The backlog of reclaiming. NOT_FOUND.
  Async<Result<ReclaimReport>> reclaim_report(ShardId from, ReclaimQuestion question);

  // ---- backups (backup.h): store and progress belong to shard 0 and must live until the result.
  // One backup or restore at a time; others wait.

  // Backs up the requested tables. FAILED_PRECONDITION: the store has backups of another directory.
  // ALREADY_EXISTS: it has one of this name. NOT_FOUND: no such table.
  Async<Result<void>> back_up(ShardId from, BackupStore& store, BackupRequest request,
                              BackupProgress& progress);
  // Restores a table of a backup as a new table, rewritten with its stamps, deletes and rules.
  // NOT_FOUND: no such backup, or no such table in it. ALREADY_EXISTS. FAILED_PRECONDITION: trusted
  // time is before the backup's. DATA_LOSS names the file.
  Async<Result<TableEntry>> restore_backup(ShardId from, BackupStore& store, RestoreRequest request,
                                           Author by, BackupProgress& progress);

  // ---- time (clock_keeper.h)
  // Called before an answer that depends on which cells are dead, where TrustedClock::stands():
  // resumes when trusted time advances, or no anchor can be written. Returns how far trusted time
  // then lags, in microseconds; above ClockKeeper::kMaxLagUs reads must not be answered, except
  // after a read-only start.
  Async<int64_t> catch_up(ShardId from);
  // The present lag in microseconds. Call only on shard 0.
  int64_t clock_lag_us() const;
  Async<ClockReport> clock_report(ShardId from);
  // The machine's clocks have jumped (tests, a resume): resumes when the trusted clocks have
  // followed. UNAVAILABLE: the manifest accepts no edits.
  Async<Result<void>> renew_clock(ShardId from);
  // An operator confirms the wall clock: trusted time is advanced to it.
  Async<Result<ClockReport>> release_held_time(ShardId from);

  const RecoveryReport& recovery() const;

  // Flushes every memtable, seals the logs and closes the manifest. No call may be in flight or
  // follow.
  Async<Result<void>> close();

 private:
  std::unique_ptr<NodeParts> parts_;
};

}  // namespace cellar::engine
