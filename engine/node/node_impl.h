// NodeImpl: the implementation of Node. It owns one ShardPart per shard, built, used and destroyed
// on that shard, and the catalog on shard 0. Every change of the set of tables runs on shard 0
// under the catalog lock, in this order: plan, manifest edit, the tablets on their shards, the new
// map on every shard, the answer.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/backup/backup.h"
#include "engine/catalog/catalog.h"
#include "engine/files/old_logs.h"
#include "engine/node.h"
#include "engine/node/clock_keeper.h"
#include "engine/node/drop_keeper.h"
#include "engine/shard/preview_estimate.h"
#include "engine/shard/shard_engine.h"
#include "io/loop/event.h"
#include "io/loop/gate.h"

namespace cellar::engine {

// A previewed change.
struct PreviewPlan {
  TableId table;
  uint64_t version = 0;  // of the schema before the change
  TableSchema after;     // valid if `changes`
  bool changes = false;  // the rule differs
  int64_t undo_window_us = 0;
};

class TabletPreview;
struct PinnedFile;
struct ReclaimQuestion;
struct ReclaimReport;

// The parts of one shard.
struct ShardPart {
  ShardPart(const ShardEnv& env, ShardEngine::Setup setup) : engine(env, std::move(setup)) {}
  ShardEngine engine;
  TableMap tables;
  TableMapWatcher* watcher = nullptr;

  void install(const TableMap& newer) {
    tables = newer;
    if (watcher != nullptr) watcher->table_map_changed();
  }
};

class NodeImpl final : public Node, private ClockKeeper::Clocks {
 public:
  // `read_only`: why nothing may be written; see Node::open_read_only().
  NodeImpl(EngineOptions options, std::vector<ShardEnv> shards, ManifestStore& manifest,
           Mailboxes& mailboxes, std::optional<Error> read_only);
  ~NodeImpl() override;

  Engine& engine(ShardId shard) override { return part(shard).engine; }
  const TableMap& tables(ShardId shard) const override { return parts_[shard.value()]->tables; }
  void watch_tables(ShardId shard, TableMapWatcher* watcher) override {
    part(shard).watcher = watcher;
  }

  Async<Result<TableEntry>> create_table(ShardId from, TableSpec spec, Author by) override;
  Async<Result<TableEntry>> alter_table(ShardId from, TableChange change, Author by) override;
  Async<Result<TableEntry>> undo_rule(ShardId from, RuleUndo undo, Author by) override;
  // drop_table.cc
  Async<Result<void>> drop_table(ShardId from, std::string name, Author by) override;
  Async<Result<TableEntry>> restore_table(ShardId from, std::string name, Author by) override;
  Async<std::vector<DroppedTable>> dropped_tables(ShardId from) override;
  Async<AuditPage> audit_log(ShardId from, AuditQuery query) override;
  Async<Result<PreviewReport>> preview_rule(ShardId from, PreviewRequest request,
                                            PreviewListener& listener) override;
  Async<Result<void>> flush_table(ShardId from, std::string name) override;
  Async<Result<void>> compact_table(ShardId from, std::string name) override;
  Async<Result<std::vector<TabletSize>>> tablet_sizes(ShardId from, TableId table) override;
  // reshape.cc
  Async<Result<std::vector<TabletDescriptor>>> split_tablet(ShardId from, TabletId tablet,
                                                            std::string row) override;
  Async<Result<TabletDescriptor>> merge_tablets(ShardId from, TabletId left,
                                                TabletId right) override;
  Async<Result<TabletDescriptor>> move_tablet(ShardId from, TabletId tablet, ShardId to) override;
  // tablet_figures.cc
  Async<Result<std::vector<TabletFigures>>> tablet_figures(ShardId from, TableId table) override;
  Async<std::vector<EngineStats>> stats(ShardId from) override;
  Async<int64_t> catch_up(ShardId from) override;
  int64_t clock_lag_us() const override { return clock_.lag_us(); }
  Async<ClockReport> clock_report(ShardId from) override;
  Async<Result<void>> renew_clock(ShardId from) override;
  Async<Result<ClockReport>> release_held_time(ShardId from) override;
  const RecoveryReport& recovery() const override { return report_; }
  const Error* read_only_start() const override { return read_only_ ? &*read_only_ : nullptr; }
  // reclaim_report.h
  Async<Result<ReclaimReport>> reclaim_report(ShardId from, ReclaimQuestion question);
  // backup.h
  Async<Result<void>> back_up(ShardId from, BackupStore& store, BackupRequest request,
                              BackupProgress& progress);
  Async<Result<TableEntry>> restore_backup(ShardId from, BackupStore& store, RestoreRequest request,
                                           Author by, BackupProgress& progress);
  Async<Result<void>> close() override;
  // Cleans up after a failed start, on each shard.
  Async<void> discard(const Error& why);

 private:
  friend class Recovery;
  friend class Reshape;

  using ShardWork = std::function<Async<Result<void>>(ShardId)>;
  using TabletWork = std::function<Async<Result<void>>(ShardEngine&, TabletId)>;

  uint32_t shards() const { return static_cast<uint32_t>(envs_.size()); }
  ShardPart& part(ShardId shard) { return *parts_[shard.value()]; }
  Mailbox& mailbox(ShardId shard) { return mailboxes_.of(shard); }

  // On shard 0: runs work(shard) on all shards concurrently; returns the first error when all have
  // ended.
  Async<Result<void>> on_every_shard(ShardWork work);
  Async<void> run_on(ShardId shard, const ShardWork& work, Result<void>& outcome, size_t& left,
                     Waiter& all_done);
  Async<Result<void>> each_tablet(ShardId from, std::string name, TabletWork work);

  // On shard 0.
  int64_t now_us() const { return envs_.front().runtime.clock.now_us(); }
  // The outcome of an edit is unknown: no shard accepts writes until the next start has found out.
  void manifest_failed(const Error& error);
  // One edit of the manifest together with its audit entries, which get time and author here.
  // Returns the versions of `edits`. REQUIRES: the catalog lock.
  Async<Result<std::vector<uint64_t>>> commit_change(std::vector<VersionEdit> edits,
                                                     std::vector<AuditEntry> entries, Author by);
  Async<Result<TableEntry>> create_here(TableSpec spec, Author by);
  // alter_table.cc
  Async<Result<TableEntry>> alter_here(TableChange change, Author by);
  Async<Result<TableEntry>> undo_here(RuleUndo undo, Author by);
  // The newest stamp that a tablet of a table has given to a commit, and the least gc watermark
  // of them.
  struct Stamps {
    CommitStamp last;
    CommitStamp gc_watermark;
  };
  Async<Result<Stamps>> stamps_of(const std::vector<std::vector<TabletId>>& ids);
  Async<Result<void>> stamp_changes(Catalog::Alteration& alteration,
                                    const std::vector<std::vector<TabletId>>& ids,
                                    bool close_oldest_undo_window);
  // Called before an instant is chosen: announces the coming rules to every tablet
  // (Tablet::expect_rules).
  Async<Result<void>> expect_rules(const std::vector<std::vector<TabletId>>& ids,
                                   const TableSchema& coming);
  // alter_here() after the rules were announced.
  Async<Result<TableEntry>> alter_expected(Catalog::Alteration alteration, TableChange change,
                                           const std::vector<std::vector<TabletId>>& ids,
                                           Author by);
  // undo_here() after the rules were announced.
  Async<Result<TableEntry>> undo_expected(Catalog::Alteration alteration, RuleUndo undo,
                                          const std::vector<std::vector<TabletId>>& ids, Author by);
  // The manifest edit, then every tablet and every map.
  Async<Result<TableEntry>> put_in_force(Catalog::Alteration alteration,
                                         const std::vector<std::vector<TabletId>>& ids,
                                         std::vector<AuditEntry> entries, Author by);
  // preview_rule.cc
  Async<Result<PreviewPlan>> plan_preview(const PreviewRequest& request);
  Async<std::vector<TabletContents>> table_contents(ShardId from, TableId table);
  Async<Result<void>> preview_tablets(ShardId from, const PreviewPlan& plan,
                                      const PreviewRequest& request, PreviewListener& listener,
                                      PreviewProgress& progress, PreviewReport& report);
  Async<Result<void>> preview_tablet(ShardId from, TabletPreview& preview,
                                     PreviewListener& listener, PreviewProgress& progress);
  // drop_table.cc
  Async<Result<void>> drop_here(std::string name, Author by);
  Async<Result<TableEntry>> restore_here(std::string name, Author by);
  Async<std::vector<DroppedTable>> dropped_here();
  Async<Result<void>> hide_tablets(const TableEntry& entry, bool hidden);
  Async<Result<void>> end_due_table();
  Async<Result<void>> end_table(Catalog::Drop drop, std::vector<AuditEntry> entries, Author by);
  // take_backup.cc, restore_backup.cc
  Async<Result<void>> back_up_held(BackupStore& store, const BackupRequest& request,
                                   BackupProgress& progress);
  Async<Result<void>> hold_blobs(std::optional<std::vector<BlobId>> only);
  Async<Result<void>> release_blobs();
  Result<std::vector<const TableEntry*>> tables_named(const std::vector<std::string>& names) const;
  Async<Result<TableEntry>> restore_backup_here(BackupStore& store, const RestoreRequest& request,
                                                Author by, BackupProgress& progress);
  // Resumes when every shard's clock has reached the time; FAILED_PRECONDITION if that takes
  // longer than twice ClockKeeper::kSlackUs.
  Async<Result<void>> reach_time(int64_t wanted_us);
  Async<Result<TableEntry>> adopt_table(TableSchema schema, std::vector<TabletSeed> tablets,
                                        const RestoreRequest& request, Author by);
  Async<Result<TableEntry>> install_adopted(Catalog::Creation plan, std::vector<AuditEntry> entries,
                                            Author by);
  // On that shard: half of its session's blob ids are used, so shard 0 assigns it a new session.
  void ask_session(ShardId shard);
  Async<void> give_session(ShardId shard);
  Async<Result<SessionEpoch>> draw_session();
  // Grouped by shard.
  std::vector<std::vector<TabletId>> tablets_of(const TableEntry& entry) const;
  Async<Result<void>> publish();
  Async<Result<std::vector<ClockPoint>>> begin_lines() override;
  Async<Result<void>> spread(ClockAnchor anchor) override;
  Async<Result<void>> listen(bool yes) override;
  // On that shard: its clock was read for an answer.
  struct AskedClock {
    NodeImpl* node = nullptr;
    ShardId shard;
  };
  void clock_asked(ShardId shard);

  EngineOptions options_;
  const std::optional<Error> read_only_;
  std::vector<ShardEnv> envs_;
  ManifestStore& manifest_;
  Mailboxes& mailboxes_;
  OldLogs old_logs_;
  ObsoleteBlobDeleter home_deleter_;  // for blobs shared by several shards
  BlobRefCounts shared_blobs_;
  ClockKeeper clock_;
  std::vector<AskedClock> asked_clocks_;  // by shard
  std::vector<std::unique_ptr<ShardPart>> parts_;
  std::vector<LogId> log_of_;  // the open log of each shard
  Catalog catalog_;
  AuditTrail audit_;
  DropKeeper drop_keeper_;
  Gate sessions_{"the node"};  // for assignments of sessions
  AsyncMutex catalog_lock_;
  AsyncMutex reshape_lock_;  // taken before the catalog lock
  AsyncMutex backup_lock_;   // one backup at a time; taken before the others
  RecoveryReport report_;
};

}  // namespace cellar::engine
