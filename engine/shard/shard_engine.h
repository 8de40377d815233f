// ShardEngine: the engine of one shard. Built by Node on its shard, and used, closed and destroyed
// there.
//
// Lifetime: recover() opens tablets and replays old logs; serve() takes the manifest versions of
// the edit that named the new log, and from then on writes are accepted; add() and the drop calls
// follow the catalog; close() ends it in order. After a crash, destroy it after its loop.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/files/obsolete_blobs.h"
#include "engine/files/old_logs.h"
#include "engine/manifest/tablet_seed.h"
#include "engine/node.h"
#include "engine/read/expected_read.h"
#include "engine/reshape/shard_reshape.h"
#include "engine/scrub/scrubber.h"
#include "engine/shard/maintenance.h"
#include "engine/shard/memory_budget.h"
#include "engine/shard/preview_estimate.h"
#include "engine/tablet/open_tablet.h"
#include "engine/tablet/row_reads.h"
#include "engine/tablet/shard_context.h"
#include "engine/tablet/tablet.h"

namespace cellar::engine {

struct IndexCheckPlace;   // engine/lookup/index_check_step.h
struct IndexCheckReport;  // engine/index_check.h

struct ShardReclaim;

struct ShardRecovery {
  std::vector<RecoveredTablet> tablets;
  ReplayReport replay;
};

class ShardEngine final : public Engine, private TabletWatcher {
 public:
  struct Setup {
    ShardId shard;
    uint32_t shards = 1;
    EngineOptions options;
    SessionEpoch session;
    Mailbox& mailbox;             // this shard's
    ManifestStore& manifest;      // shard 0's
    OldLogs& old_logs;            // shard 0's
    BlobRefCounts& shared_blobs;  // shard 0's
    TokenWindow tokens;
    std::function<void()> ask_session;  // see SessionBlobIds
    std::function<void()> call_back;    // see MemoryBudget::on_short
    std::optional<Error> read_only{};   // why nothing may be written; see Node::open_read_only()
  };
  ShardEngine(const ShardEnv& env, Setup setup);
  ~ShardEngine() override;

  // ---- Engine ----
  void submit(Write& write) override;
  void submit(ConditionalWrite& write) override;
  Result<std::unique_ptr<ScanCursor>> open_scan(TabletId tablet, Epoch epoch,
                                                const ReadSpec& spec) override;
  Result<std::unique_ptr<IndexScan>> open_index(TabletId tablet, Epoch epoch,
                                                const IndexReadSpec& spec) override;
  Result<ReadStart> start_read(TabletId tablet, Epoch epoch, const ReadSpec& spec, CellSink& sink,
                               const Clock* clock) override;
  void expect_rows(std::span<const ExpectedRow> rows) override;
  Async<Result<void>> flush(TabletId tablet) override;
  Async<Result<void>> compact(TabletId tablet) override;
  void end_waits() override {
    context_.merge_slot.end();
    if (context_.wal.log) context_.wal.log->give_up_waiting_for_space();
  }
  Result<uint64_t> tablet_bytes(TabletId tablet) const override;
  EngineStats stats() const override;
  ShardFigures shard_figures() const override;
  FlowFigures flow_figures() const override;
  std::vector<MergeRecord> merge_history() const override { return context_.merges.kept(); }
  size_t withhold_memory(size_t bytes) override { return budget_.withhold(bytes); }
  const ShardContext& context() const { return context_; }
  const TabletTableOfShard& tablets() const { return tablets_; }

  // ---- called by Node ----
  MemoryBudget& memory() { return budget_; }
  // Lends that much to another shard, once the cache has given it up. False: it has not within
  // `most_us`, and nothing is lent.
  Async<bool> give_memory(size_t bytes, int64_t most_us);
  // Opens the tablets, replays their spans and starts this session's log (read-only: no log).
  Async<Result<ShardRecovery>> recover(std::vector<TabletSeed> seeds);
  // The edit with the recovered states has succeeded. From here on writes are accepted.
  void serve(std::vector<std::pair<RecoveredTablet, uint64_t>> tablets, uint64_t torn_tail_bytes);
  LogId log_id() const { return make_log_id(setup_.session, setup_.shard.value()); }
  // flush() of each, several at a time. The first error, after the others were flushed.
  Async<Result<void>> flush_each(std::vector<TabletId> tablets);
  // Adds new, empty tablets.
  void add(std::vector<TabletSeed> seeds);
  // The newest stamp that any of the tablets has given to a commit.
  CommitStamp last_stamp(const std::vector<TabletId>& ids) const;
  // See compact.h; for tests.
  Async<Result<void>> compact_window(TabletId tablet, size_t first, size_t count);
  // The least gc watermark of all their data (TableMeta::gc_watermark).
  CommitStamp gc_watermark(const std::vector<TabletId>& ids) const;
  // See Tablet::alter.
  void alter(const std::vector<TabletId>& ids, const TableSchema& schema);
  // A change of rules, in this order (alter_table.h). Holds the writes of the tablets and resumes
  // when every earlier one is visible, and on disk whatever its level, or some time after
  // release(). UNAVAILABLE if the log failed.
  Async<Result<void>> hold_writes(std::vector<TabletId> ids);
  void hold_reads(const std::vector<TabletId>& ids);
  // Serves reads and writes again, by the schema that the tablets have now. Those that are not held
  // are skipped.
  void release(const std::vector<TabletId>& ids);
  // See TabletAccess.
  void hide(const std::vector<TabletId>& ids, bool hidden);
  // See Tablet. begin_drop returns the manifest versions, in order.
  Async<std::vector<uint64_t>> begin_drop(std::vector<TabletId> ids);
  void cancel_drop(const std::vector<TabletId>& ids);
  Async<void> finish_drop(std::vector<TabletId> ids);
  ShardReshape& reshape() { return reshape_; }
  ObsoleteBlobDeleter& deleter() { return deleter_; }
  SessionBlobIds& blob_ids() { return context_.files.ids; }
  // Figures of the tablets that are here, in the order given; their descriptors have
  // only the id. Yields regularly.
  Async<std::vector<TabletFigures>> figures(std::vector<TabletId> ids);
  // Reclaim figures of the tablets that are here and stay; `files`: number of worst files included.
  Async<ShardReclaim> shard_reclaim(std::vector<TabletId> ids, size_t files);
  // Of each index, the sum of its states in these tablets. ABORTED: one is not here.
  Async<Result<std::vector<IndexState>>> index_states(std::vector<TabletId> ids,
                                                      std::vector<IndexSchema> indexes);
  // Compares the next part of an index with its tablet (index_check_step.h).
  Async<Result<void>> check_index(TabletId tablet, Epoch epoch, IndexCheckPlace& place,
                                  IndexCheckReport& report);
  // The sources of the tablets that are here.
  std::vector<TabletContents> contents(const std::vector<TabletId>& ids) const;
  // Like open_scan, with a watch. ABORTED also if the tablet uses another version of the schema.
  Result<std::unique_ptr<ScanCursor>> open_watched(TabletId tablet, Epoch epoch,
                                                   uint64_t schema_version, const ReadSpec& spec,
                                                   std::unique_ptr<CellWatch> watch);
  // Whether the manifest has an edit is unknown until the next start.
  void manifest_failed(const Error& error) {
    context_.wal.stop_writes("the manifest failed", error);
  }
  // No more writes are accepted, and close() will not flush.
  void stop_writes(const Error& why) { context_.wal.give_up(why); }
  // Flushes everything and seals the log. No call may be in flight or follow.
  Async<Result<void>> close();

 private:
  void memtable_full(Tablet& tablet) override;
  void memory_short() override { maintenance_.wake_flush(); }
  void runs_changed(Tablet& tablet) override { maintenance_.runs_changed(tablet.id()); }
  void section_damaged(TabletId tablet) override { maintenance_.indexes_changed(tablet); }
  void logs_released(std::vector<LogId> logs) override;
  template <class AnyWrite>
  void hand_over(AnyWrite& write);
  void watch_log();
  FlowLevels flow_levels() const;
  double backlog(BackgroundKind kind) const;
  Result<Tablet*> find(TabletId id, Epoch epoch) const;
  // Finds a tablet for work that writes tables.
  Result<Tablet*> find_to_write(TabletId id) const;

  Setup setup_;
  LogStore& logs_;
  ObsoleteBlobDeleter deleter_;
  BlockCache cache_;
  BlockLoader loader_;
  ShardContext context_;
  MemoryBudget budget_;
  TabletTableOfShard tablets_;
  // Scratch space of expect_rows().
  std::string expected_key_;
  std::array<ExpectedRead, kMostExpectedRows> expected_reads_;
  RowReads row_reads_;
  Maintenance maintenance_;
  ShardReshape reshape_;
  Scrubber scrubber_;
  uint64_t torn_tail_bytes_ = 0;
  uint64_t replayed_commits_ = 0;
};

}  // namespace cellar::engine
