// Node: a whole data directory, open: the catalog and one Engine per shard. Built on shard 0; its
// coroutines may be awaited on any shard and resume there. Catalog changes are serialised on shard
// 0, durable in one manifest edit, and known to every shard before they are answered.
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
#include "engine/manifest/table_state.h"
#include "engine/options.h"
#include "engine/preview_rule.h"
#include "engine/store/blob_store.h"
#include "engine/store/log_store.h"
#include "engine/store/manifest_store.h"
#include "engine/tablet_figures.h"
#include "io/loop/mailbox.h"
#include "io/loop/runtime.h"

namespace cellar::engine {

// What one shard brings. References outlive the node; each belongs to its shard.
struct ShardEnv {
  Runtime runtime;
  LogStore& logs;
  BlobStore& blobs;
};

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

  // The same without a single write, for a disk that has no room for a start. Reads are answered,
  // at one instant: trusted time stands where the last anchor permits. What would write is refused
  // with `why`, which is UNAVAILABLE, until another start. REQUIRES: `manifest` was opened
  // read-only.
  static Async<Result<std::unique_ptr<Node>>> open_read_only(EngineOptions options,
                                                             std::vector<ShardEnv> shards,
                                                             ManifestStore& manifest,
                                                             Mailboxes& mailboxes, Error why);
  // Why it was started read-only; null: it was not. On any shard; as long as the node.
  virtual const Error* read_only_start() const = 0;

  // ---- on the shard that asks ----
  virtual Engine& engine(ShardId shard) = 0;                // call only on that shard
  virtual const TableMap& tables(ShardId shard) const = 0;  // that shard's copy
  // Called on that shard, and told there; it must outlive the node or be unset with null.
  virtual void watch_tables(ShardId shard, TableMapWatcher* watcher) = 0;

  // ---- catalog and admin; `from` is the shard that asks and on which the answer resumes. What
  // changes a table is told to the audit trail, with `by`, in the same manifest edit.
  virtual Async<Result<TableEntry>> create_table(ShardId from, TableSpec spec,
                                                 Author by) = 0;  // ALREADY_EXISTS
  // All of it or nothing, durable in one manifest edit and in force in every tablet before the
  // answer: the table as it is then. A change of nothing succeeds and changes no version. Refusals,
  // in this order: INVALID_ARGUMENT (validate_change), NOT_FOUND (table, family to drop or alter),
  // ALREADY_EXISTS (family to add). A family that was dropped and is added again is empty.
  virtual Async<Result<TableEntry>> alter_table(ShardId from, TableChange change, Author by) = 0;
  // As if the newest change of the rule that can still be undone had never been made; in force as
  // an alteration is. NOT_FOUND (table, family). FAILED_PRECONDITION: no undo window is open, the
  // schema has another version than the one expected, or the family has been altered since so that
  // it cannot have the rule that would come back.
  virtual Async<Result<TableEntry>> undo_rule(ShardId from, RuleUndo undo, Author by) = 0;
  // NOT_FOUND. Its name is free. For the longest undo window of its families it can be restored;
  // where none has one it is gone at once.
  virtual Async<Result<void>> drop_table(ShardId from, std::string name, Author by) = 0;
  // Of several dropped tables of the name the one dropped last, as it was but for what has aged
  // since. NOT_FOUND: there is none, or its time is over. ALREADY_EXISTS: a table of the name.
  virtual Async<Result<TableEntry>> restore_table(ShardId from, std::string name, Author by) = 0;
  // Those that can be restored, by id.
  virtual Async<std::vector<DroppedTable>> dropped_tables(ShardId from) = 0;
  virtual Async<AuditPage> audit_log(ShardId from, AuditQuery query) = 0;
  // What another rule of a family would hide or kill (preview_rule.h); changes nothing. Refused as
  // alter_table with that rule would be. ABORTED: the table was altered meanwhile, ask again. The
  // listener is asked on `from`, and lives until the answer.
  virtual Async<Result<PreviewReport>> preview_rule(ShardId from, PreviewRequest request,
                                                    PreviewListener& listener) = 0;
  virtual Async<Result<void>> flush_table(ShardId from, std::string name) = 0;
  virtual Async<Result<void>> compact_table(ShardId from, std::string name) = 0;
  // The tablets of a table and about how many bytes each takes. NOT_FOUND; ABORTED when the table
  // is dropped meanwhile.
  virtual Async<Result<std::vector<TabletSize>>> tablet_sizes(ShardId from, TableId table) = 0;
  // ---- reshaping: how a table is cut, and where its tablets live (reshape.h). One at a time, also
  // with changes of the catalog; reads go on, writes to the tablet wait for at most
  // Reshape::kHoldUs. Each is durable in one manifest edit and known to every shard before it is
  // answered. NOT_FOUND: no such tablet; ABORTED or DEADLINE_EXCEEDED: nothing was changed, try
  // again later; UNAVAILABLE: the shard or the manifest takes no changes.

  // Cuts it before `row`; empty: where the engine sees about half of its bytes, or else of its use,
  // on either side. Both parts stay on its shard, and no data is copied. OUT_OF_RANGE: the row is
  // the tablet's first or not in it. FAILED_PRECONDITION: no row is known to split at, or the table
  // has kMaxTablets already.
  virtual Async<Result<std::vector<TabletDescriptor>>> split_tablet(ShardId from, TabletId tablet,
                                                                    std::string row) = 0;
  // Makes one of two neighbours of a table, on the left one's shard; the right one is moved there
  // first where it must. INVALID_ARGUMENT: they are no neighbours, in this order.
  virtual Async<Result<TabletDescriptor>> merge_tablets(ShardId from, TabletId left,
                                                        TabletId right) = 0;
  // Serves it on another shard; the same id, the next epoch. One that is there already stays as it
  // is. INVALID_ARGUMENT: no such shard.
  virtual Async<Result<TabletDescriptor>> move_tablet(ShardId from, TabletId tablet,
                                                      ShardId to) = 0;
  // Of a table, or of all with TableId{}; by table, then start. NOT_FOUND.
  virtual Async<Result<std::vector<TabletFigures>>> tablet_figures(ShardId from, TableId table) = 0;

  virtual Async<std::vector<EngineStats>> stats(ShardId from) = 0;  // one a shard

  // ---- time (clock_keeper.h)
  // Before an answer that depends on what is dead, where TrustedClock::stands(): resumes when the
  // clocks go on, or no anchor can be had. How far trusted time then lags; past
  // ClockKeeper::kMaxLagUs nothing that reads is to be answered, except after a read-only start.
  virtual Async<int64_t> catch_up(ShardId from) = 0;
  // The present lag. Call only on shard 0.
  virtual int64_t clock_lag_us() const = 0;
  virtual Async<ClockReport> clock_report(ShardId from) = 0;
  // The machine's clocks have moved in a way that they do not by themselves (tests, a resume):
  // resumes when the trusted clocks have taken it in. UNAVAILABLE: the manifest takes no edits.
  virtual Async<Result<void>> renew_clock(ShardId from) = 0;
  // An operator says that the wall clock is right: trusted time goes there.
  virtual Async<Result<ClockReport>> release_held_time(ShardId from) = 0;

  virtual const RecoveryReport& recovery() const = 0;

  // Flushes every memtable, seals the logs, closes the manifest. No call may be in flight or
  // follow.
  virtual Async<Result<void>> close() = 0;
};

}  // namespace cellar::engine
