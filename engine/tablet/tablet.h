// Tablet: one tablet's data and order of events. It sequences; the work is done by its nouns:
// CommitQueue (when a commit is seen), Version (what there is), flush.h and compact.h (how that
// changes), open_tablet.h (how it comes back).
//
// Life: opened from a seed (tablet_seed.h), perhaps with replayed commits in its memtable; serves
// until the shard closes it or the table is dropped. Whoever works on it across an await is inside
// its gate; drop closes the gate and waits, then lets go.
//
// Invariants
//   1. Stamps rise by at least one from commit to commit, over restarts too.
//   2. Everything up to state().last_flushed is in the tables that the manifest names; everything
//      after it is in a memtable, and in the log inside state().spans.
//   3. What a reader may see is at or below facts().visible, and does not change except by commits.
//   4. A memtable is written to a table only when all of it is visible: what a table holds was
//      durable at its level, so a poisoned log's leftovers never become data.
//   5. Manifest edits of the tablet are made one at a time, under edit_lock().
#pragma once

#include <absl/container/flat_hash_map.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/filter/named_columns.h"
#include "engine/manifest/tablet_seed.h"
#include "engine/read/cell_watch.h"
#include "engine/read/row_start.h"
#include "engine/tablet/row_samples.h"
#include "engine/tablet/run_shapes.h"
#include "engine/tablet/shard_context.h"
#include "engine/version/version.h"
#include "engine/wal/replay.h"
#include "engine/write/commit_queue.h"
#include "engine/write/row_lock_table.h"
#include "io/loop/event.h"
#include "io/loop/gate.h"

namespace cellar::engine {

class RowReads;  // row_reads.h

// What a component above keeps with a tablet, for as long as the tablet lives.
class TabletAttachment {
 public:
  virtual ~TabletAttachment() = default;
};

class Tablet final : public ReplayTarget, private ConditionHost {
 public:
  // `tables` are the seed's, open. Visible from the start: what the tables and the replay give.
  Tablet(ShardContext& shard, TabletSeed seed, std::vector<Ref<TabletTable>> tables);
  ~Tablet() override;
  Tablet(const Tablet&) = delete;
  Tablet& operator=(const Tablet&) = delete;

  TabletId id() const { return id_; }
  Epoch epoch() const { return state_.epoch; }
  const TableSchema& schema() const { return schema_->value; }
  const TableRetention& retention() const { return schema_->retention; }
  const TabletState& state() const { return state_; }
  const Version& version() const { return *version_; }
  Ref<const Version> pin() const { return version_; }
  CommitStamp last_stamp() const { return last_stamp_; }
  // Of the last commit that was appended since it was opened.
  CommitStamp last_commit() const { return last_commit_; }

  // ---- recovery, before it serves ----
  Result<void> replay(CommitStamp stamp, Bytes payload) override;
  // What was replayed is visible, and lies in `spans` from now on; manifest version of that edit.
  void recovered(std::vector<LogSpan> spans, uint64_t manifest_version);
  bool has_replayed() const { return replayed_; }
  // The edit that made it went through with this manifest version.
  void installed(uint64_t manifest_version) { manifest_version_ = manifest_version; }

  // ---- commits and reads: plain calls ----
  // Answers the write by its `done`, or refuses it (then `done` never runs).
  Result<void> submit(Write& write);
  Result<void> submit(ConditionalWrite& write);
  // As of what is visible, or of `as_of`, which outlives the cursor. Without a watch, what the spec
  // asks for is explained. `columns`: as ScanSetup::columns.
  Result<std::unique_ptr<ScanCursor>> open_scan(const ReadSpec& spec,
                                                const VisibleStamp* as_of = nullptr,
                                                std::unique_ptr<CellWatch> watch = nullptr,
                                                const NamedColumns* columns = nullptr);
  // Engine::start_read; `rows` is the shard's.
  Result<ReadStart> start_read(const ReadSpec& spec, CellSink& sink, RowReads& rows,
                               const Clock* clock);

  // ---- for conditional.cc ----
  RowLockTable& conditions() { return conditions_; }
  // That a commit would get now.
  CommitStamp next_stamp() const;
  // Appends a validated write under a stamp from next_stamp() of the same call; `judged` by the
  // guards.
  Result<void> commit(Write& write, CommitStamp stamp, bool judged);
  // False: no token with that hash counts (token_memory.h).
  bool may_remember(uint64_t hash, int64_t now_us) const {
    return now_us <= tokens_in_tables_until_us_ || shard_.tokens.may_hold(hash);
  }

  // ---- for flush.cc and compact.cc ----
  Gate& gate() { return gate_; }
  AsyncMutex& flush_lock() { return flush_lock_; }
  AsyncMutex& edit_lock() { return edit_lock_; }
  CommitQueue& commits() { return commits_; }
  const FlowControl::Writers& writers() const { return writers_; }
  ShardContext& shard() { return shard_; }
  const ShardContext& shard() const { return shard_; }
  // The greatest timestamp of what it has flushed since it was opened; INT64_MIN: none.
  int64_t newest_flushed_us() const { return newest_flushed_us_; }
  // Ends the active memtable, if there is anything in it; commits go to a new one.
  void freeze();
  // The frozen memtable that must be flushed next; null when there is none.
  Ref<TabletMemtable> oldest_frozen() const;
  const RangeTokens& range_tokens() const { return range_tokens_; }
  // A new version without the flushed memtable and with the new tables (perhaps none).
  void flushed(const Ref<TabletMemtable>& memtable, std::vector<Ref<TabletTable>> tables,
               TabletState state, uint64_t manifest_version);
  // A new version with `inputs` replaced by `outputs`; the inputs are condemned.
  void compacted(const std::vector<Ref<TabletTable>>& inputs, std::vector<Ref<TabletTable>> outputs,
                 TabletState state, uint64_t manifest_version);
  uint64_t manifest_version() const { return manifest_version_; }

  // ---- altering the table ----
  // From here on writes and new cursors go by `schema`, and commits are stamped above every
  // family's creation (alter_table.cc says why). Cursors and merges under way keep what they have.
  void alter(TableSchema schema);
  // The rules of `coming` are about to be in force, from an instant that has not been chosen yet:
  // until alter() a write that only they refuse waits for what becomes of them (UNAVAILABLE), and
  // so does who plans a removal (rules_known). The present schema: none are coming any more.
  void expect_rules(const TableSchema& coming);
  // Resumes when no rules are coming. What is planned then judges by an instant before that of the
  // next change.
  Async<void> rules_known();
  bool rules_are_known() const { return !rules_are_coming_; }
  // Tables may hold cells of families that were dropped: a full merge has something to do even
  // where there is one run without deletes.
  bool may_hold_orphans() const { return may_hold_orphans_; }
  // A full merge that was planned under this version of the schema is installed.
  void orphans_merged_away(uint64_t schema_version);

  // ---- sealing (shard_reshape.h)
  void set_sealing(bool yes) { sealing_ = yes; }
  bool sealing() const { return sealing_; }
  // Writes are ABORTED; the server keeps them waiting until it knows where they go.
  void refuse_writes(bool refuse) { refuses_writes_ = refuse; }

  // ---- of a dropped table that can be restored (drop_table.cc): nobody outside finds it
  void hide(bool yes) { hidden_ = yes; }
  bool hidden() const { return hidden_; }

  // ---- dropping: between begin and cancel no edit of the tablet starts ----
  Async<void> begin_drop();  // waits for the edit under way
  void cancel_drop() { drop_lock_.reset(); }
  // The manifest does not name the tablet any more: its blobs go when the last reader lets go.
  void mark_obsolete();
  bool obsolete() const { return obsolete_; }

  // Other tablets name its tables, too, and BlobRefCounts knows; before condemn().
  void share_tables();

  // ---- figures ----
  uint64_t reads() const { return reads_; }
  uint64_t writes() const { return writes_; }
  const RowSamples& samples() const { return samples_; }
  // What reclaiming keeps about the tablet (reclaim_state.h), which makes it at its first look.
  std::unique_ptr<TabletAttachment>& reclaim_state() { return reclaim_state_; }
  // How long a dead cell may lie before it is overdue: reclaim_within and the margin.
  int64_t reclaim_grace_us() const;
  uint64_t publications() const { return publications_; }  // of versions
  // Which way of merging is at work: tiered or time_window.
  Compaction compaction() const { return compaction_; }
  // Its runs as merging sees them now.
  RunShapes run_shapes() const;
  // Since when families that the schema does not have are known to be gone; trusted.
  int64_t orphaned_us() const { return orphaned_us_; }
  int64_t margin_us() const { return shard_.options.removal_margin_us; }
  size_t memtable_bytes() const;
  size_t active_bytes() const { return active_ ? active_->counted : 0; }
  bool has_unflushed() const;
  bool has_frozen() const { return !frozen_.empty(); }
  // So many runs more than merging lets stand.
  size_t runs_behind() const { return runs_behind_; }
  // Commits of the open log up to here are not needed by this tablet.
  LogPosition log_needed_from() const;

 private:
  void note_read(const ReadSpec& spec);
  std::unique_ptr<ScanCursor> make_cursor(const ReadSpec& spec, const VisibleStamp* as_of,
                                          std::unique_ptr<CellWatch> watch,
                                          std::optional<RowStart> started,
                                          const NamedColumns* columns = nullptr);
  Result<void> check_serving() const;
  Result<void> check_row(Bytes row) const;
  Result<void> check(const Write& write);
  Result<void> refuse(const Write& write, Error error) const;
  Result<void> encode(Write& write, bool judged);
  Result<void> encode_with_range_token(const Write& write);
  void submit_waiting(Write& write) override;
  bool submit_waiting(ConditionalWrite& write) override;
  void apply(CommitStamp stamp, Bytes payload);
  TabletMemtable& active();
  static const Error* lost_deletes(const std::vector<TabletRun>& runs);
  void publish(std::vector<TabletRun> runs);
  void retire_version();
  // Where runs or rules have changed.
  void choose_compaction(const std::vector<TabletRun>& runs);
  void renew_retention();
  // When the log is cleared of what may be dead from now on.
  int64_t log_clear_us() const;
  bool in_range(Bytes row) const;
  RangeDelete clip(const RangeDelete& range) const;

  ShardContext& shard_;
  const TabletId id_;
  TabletState state_;
  uint64_t manifest_version_;
  Ref<TabletFacts> facts_;
  Ref<const SchemaSnapshot> schema_;
  Ref<const SchemaSnapshot> coming_;  // with the rules that are about to be in force; else null
  bool rules_are_coming_ = false;
  ConditionVariable rules_moved_;
  CommitStamp last_stamp_;
  CommitStamp last_commit_;
  FlowControl::Writers writers_;
  CommitQueue commits_;
  RowLockTable conditions_{*this};
  RangeTokens range_tokens_;
  Ref<TabletMemtable> active_;              // null until the first commit after a freeze
  std::deque<Ref<TabletMemtable>> frozen_;  // oldest first
  Ref<Version> version_;
  int64_t next_unread_us_ = INT64_MAX;  // when its sources may be fewer (version.h)
  std::string payload_;                 // scratch of submit
  std::vector<Mutation> canonical_;
  bool replayed_ = false;
  bool full_reported_ = false;
  bool obsolete_ = false;
  bool hidden_ = false;
  bool refuses_writes_ = false;
  uint64_t reads_ = 0;
  uint64_t writes_ = 0;
  size_t runs_behind_ = 0;
  RowSamples samples_;
  std::unique_ptr<TabletAttachment> reclaim_state_;
  Compaction compaction_ = Compaction::automatic;  // until the first look
  uint64_t publications_ = 0;
  int64_t newest_flushed_us_ = INT64_MIN;
  const Error* lost_deletes_ = nullptr;  // why nothing is known of some range deletes; of version_
  int64_t orphaned_us_;
  const int64_t tokens_in_tables_until_us_;  // of the tables that it was opened with
  bool sealing_ = false;
  bool may_hold_orphans_ = false;
  Gate gate_{"tablet"};
  AsyncMutex flush_lock_;
  AsyncMutex edit_lock_;
  std::optional<AsyncMutex::Lock> drop_lock_;
};

// The tablets of a shard.
using TabletTableOfShard = absl::flat_hash_map<TabletId, std::unique_ptr<Tablet>>;

}  // namespace cellar::engine
