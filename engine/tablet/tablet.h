// Tablet: one tablet's data and the order of its events. Delegates to CommitQueue (visibility of
// commits), TabletMemtables, Version (what readers see), flush.h and compact.h (changes of tables)
// and open_tablet.h (recovery).
//
// Life: opened from a seed (tablet_seed.h), perhaps with replayed commits in its memtable; serves
// until the shard closes it or the table is dropped. Hold a gate pass while suspended with a
// Tablet&; a drop closes the gate and waits for it before the tablet is destroyed.
//
// Invariants
//   1. Stamps increase by at least one from commit to commit, also across restarts.
//   2. Everything up to state().last_flushed is in the tables that the manifest names; everything
//      after it is in a memtable, and in the log inside state().spans.
//   3. Readers see commits up to facts().visible; what they see changes only by commits.
//   4. A memtable is written to a table only when all of it is visible: a table's contents were
//      durable at their level, so the remains of a failed log never become data.
//   5. Manifest edits of the tablet are made one at a time, under edit_lock().
#pragma once

#include <absl/container/flat_hash_map.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/filter/named_columns.h"
#include "engine/manifest/tablet_seed.h"
#include "engine/read/cell_watch.h"
#include "engine/read/row_reader.h"
#include "engine/read/row_start.h"
#include "engine/tablet/rule_hold.h"
#include "engine/tablet/run_shapes.h"
#include "engine/tablet/shard_context.h"
#include "engine/tablet/tablet_history.h"
#include "engine/tablet/tablet_memtables.h"
#include "engine/version/version.h"
#include "engine/wal/replay.h"
#include "engine/write/commit_queue.h"
#include "engine/write/row_lock_table.h"
#include "engine/write/write_turns.h"
#include "io/loop/event.h"
#include "io/loop/gate.h"

namespace cellar::engine {

class RowReads;  // row_reads.h

// State that a component above attaches to a tablet; destroyed with it.
class TabletAttachment {
 public:
  virtual ~TabletAttachment() = default;
};

// Who may use a tablet.
struct TabletAccess {
  bool hidden = false;  // of a dropped table that can be restored: callers cannot find the tablet
  bool quiescing = false;  // for a reshape (shard_reshape.h)
  // Writes are ABORTED; the server holds them until it knows their new tablet.
  bool refuses_writes = false;
};

class Tablet final : public ReplayTarget, private ConditionHost, private TurnHost {
 public:
  // `tables` are the seed's, open. Visible from the start: the tables and the replayed commits.
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
  // ---- for reads through indexes
  const Ref<const SchemaSnapshot>& schema_snapshot() const { return schema_; }
  Ref<const TabletFacts> facts() const { return facts_; }
  // Why some range deletes are not known, so that nothing may be read; null: all are.
  const Error* lost_deletes() const { return lost_deletes_; }
  const TabletHistory& history() const { return history_; }
  void departed(const MergeRecord& merge) { history_.departed(merge); }

  // ---- recovery, before the tablet serves ----
  Result<void> replay(CommitStamp stamp, Bytes payload) override;
  // Makes the replayed commits visible; they lie in `spans`. `manifest_version`: of that edit.
  void recovered(std::vector<LogSpan> spans, uint64_t manifest_version);
  bool has_replayed() const { return replayed_; }
  // The edit that created the tablet was applied with this manifest version.
  void installed(uint64_t manifest_version) { manifest_version_ = manifest_version; }

  // ---- commits and reads: synchronous calls ----
  // Answers the write by its `done`, or returns an error (then `done` never runs).
  Result<void> submit(Write& write);
  Result<void> submit(ConditionalWrite& write);
  // Reads what is visible, or at `as_of`, which must outlive the cursor. Without a watch the cursor
  // explains cells if the spec requests it. `columns`: as in ScanSetup::columns.
  Result<std::unique_ptr<ScanCursor>> open_scan(const ReadSpec& spec,
                                                const VisibleStamp* as_of = nullptr,
                                                std::unique_ptr<CellWatch> watch = nullptr,
                                                const NamedColumns* columns = nullptr);
  // Implements Engine::start_read; `rows` is the shard's.
  Result<ReadStart> start_read(const ReadSpec& spec, CellSink& sink, RowReads& rows,
                               const Clock* clock);
  // The first step of what RowCache, ExpectedRead and EntryTree do for a row that is read or
  // written soon; the others take the result, as long as the tablet is not changed. `key` is
  // scratch space.
  struct Expected {
    const ReadSources* sources = nullptr;  // of a read, which looks there after the row cache
    uint64_t row_hash = 0;
    EntryTree::Expected entry;
  };
  Expected expect_read(Bytes row) const;
  Expected expect_write(Bytes row, std::string& key) const;

  // Resumes when no write waits for the log, and none for a row or for the end of a change of
  // rules.
  Async<void> writes_drained();
  // Resumes when no write waits for the log.
  Async<void> turns_drained() { return line_.drained(); }

  // ---- for conditional.cc ----
  RowLockTable& conditions() { return conditions_; }
  // The stamp that a commit would get now.
  CommitStamp next_stamp() const;
  // Appends a validated write under a stamp from next_stamp() of the same call; `judged`: the
  // guards check it first.
  Result<void> commit(Write& write, CommitStamp stamp, bool judged);
  // False: no unexpired token has that hash (token_memory.h).
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
  TabletMemtables& memtables() { return memtables_; }
  const TabletMemtables& memtables() const { return memtables_; }
  const RangeTokens& range_tokens() const { return range_tokens_; }
  // Publishes a version without the flushed memtable and with the new tables (perhaps none).
  void flushed(const Ref<TabletMemtable>& memtable, std::vector<Ref<TabletTable>> tables,
               TabletState state, uint64_t manifest_version);
  // Publishes a version with `inputs` replaced by `outputs`; the inputs become obsolete.
  void compacted(const std::vector<Ref<TabletTable>>& inputs, std::vector<Ref<TabletTable>> outputs,
                 TabletState state, uint64_t manifest_version);
  uint64_t manifest_version() const { return manifest_version_; }

  // ---- altering the table ----
  // Writes and new cursors use `schema` after this, and commits are stamped above every family's
  // creation (alter_table.h says why). Cursors keep theirs to the end of
  // a row, and merges to their end. Where an index is created or dropped, commits go to a new
  // memtable: one has the same indexes from its first commit to its last.
  void alter(TableSchema schema);
  RuleHold& rule_hold() { return rule_hold_; }
  const RuleHold& rule_hold() const { return rule_hold_; }
  const Orphans& orphans() const { return orphans_; }
  // A full merge planned under this version of the schema has been installed.
  void orphans_merged_away(uint64_t schema_version);

  TabletAccess& access() { return access_; }
  const TabletAccess& access() const { return access_; }

  // ---- dropping: no manifest edit of the tablet starts between begin and cancel ----
  Async<void> begin_drop();  // waits for the edit in progress
  void cancel_drop() { drop_lock_.reset(); }
  // The manifest does not name the tablet any more: its blobs are removed after the last reader.
  void mark_obsolete();
  bool obsolete() const { return obsolete_; }

  // Other tablets, or its next owner, name its tables too: BlobRefCounts counts its references.
  // Call before mark_obsolete().
  void count_references();

  // ---- figures ----
  // Whether its tables are in ShardContext::tables: from the beginning, until it is obsolete or
  // destroyed. A tablet that is prepared beside others with the same tables is not.
  void count_tables(bool counts);
  // State of the reclaiming component (reclaim_forecast.h), which creates it on first use.
  std::unique_ptr<TabletAttachment>& reclaim_state() { return reclaim_state_; }
  // The compaction strategy in use: tiered or time_window.
  Compaction compaction() const { return compaction_; }
  // The present runs, as input of the pickers.
  RunShapes run_shapes() const;
  int64_t margin_us() const { return shard_.options.removal_margin_us; }
  // The number of runs above what the compaction strategy lets stand.
  size_t runs_behind() const { return runs_behind_; }

 private:
  void note_read(const ReadSpec& spec);
  // Reads a row from the row cache, or from the sources, and may keep it there.
  RowReader::Outcome read_row(const ReadSpec& spec, CellSink& sink, RowReader& reader,
                              RowStart& start);
  // A read at the visible stamp sees every commit of the tablet up to this one.
  CommitStamp read_stamp(int64_t now_us) const;
  std::unique_ptr<ScanCursor> make_cursor(const ReadSpec& spec, const VisibleStamp* as_of,
                                          std::unique_ptr<CellWatch> watch,
                                          std::optional<RowStart> started,
                                          const NamedColumns* columns = nullptr);
  Result<void> check_serving() const;
  Result<void> check_row(Bytes row) const;
  Result<void> check(const Write& write);
  Result<void> check_range_room(const RangeDelete& range);
  Result<void> refuse(const Write& write, Error error) const;
  Result<void> encode(Write& write, bool judged);
  Result<void> encode_with_range_token(const Write& write);
  Result<void> submit_in_order(Write& write);
  Result<void> submit_in_order(ConditionalWrite& write);
  void take_turn(Write& write) override;
  void take_turn(ConditionalWrite& write) override;
  void refuse_turn(Write& write, Error error) override;
  void submit_waiting(Write& write) override;
  bool submit_waiting(ConditionalWrite& write) override;
  void apply(CommitStamp stamp, Bytes payload);
  TabletMemtable& active();
  static const Error* lost_deletes(const std::vector<TabletRun>& runs);
  void publish(std::vector<TabletRun> runs);
  void retire_version();
  void renew_counted(TableSums now);
  // Called when runs or rules have changed.
  void choose_compaction(const std::vector<TabletRun>& runs);
  void renew_retention();
  // When the log should be cleared of what may be dead by then.
  int64_t log_clear_us() const;
  bool in_range(Bytes row) const;
  RangeDelete clip(const RangeDelete& range) const;

  ShardContext& shard_;
  const TabletId id_;
  TabletState state_;
  uint64_t manifest_version_;
  Ref<TabletFacts> facts_;
  Ref<const SchemaSnapshot> schema_;
  CommitStamp last_stamp_;
  FlowControl::Writers writers_;
  CommitQueue commits_;
  RowLockTable conditions_{*this};
  RuleHold rule_hold_{conditions_, *facts_};
  WriteTurns::Line line_;  // before conditions_ on the way of a write
  RangeTokens range_tokens_;
  TabletMemtables memtables_;
  Ref<Version> version_;
  int64_t next_unread_us_ = INT64_MAX;  // when it may have fewer sources (version.h)
  std::string payload_;                 // scratch buffer of submit()
  std::vector<Mutation> canonical_;
  bool replayed_ = false;
  bool obsolete_ = false;
  TabletAccess access_;
  TabletHistory history_;
  size_t runs_behind_ = 0;
  std::unique_ptr<TabletAttachment> reclaim_state_;
  Compaction compaction_ = Compaction::automatic;  // until first chosen
  bool counts_tables_ = true;
  TableSums counted_;                    // its part of ShardContext::tables
  uint64_t row_owner_;                   // in the shard's row cache
  CommitStamp range_deleted_;            // the last delete of rows since the tablet was opened
  uint64_t range_bytes_ = 0;             // of range deletes, at most, in the version
  uint64_t ranges_counted_at_ = 0;       // history_.publications then
  const Error* lost_deletes_ = nullptr;  // of version_: why some range deletes are unknown
  Orphans orphans_;
  const int64_t tokens_in_tables_until_us_;  // in the tables with which it was opened
  Gate gate_{"tablet"};
  AsyncMutex flush_lock_;
  AsyncMutex edit_lock_;
  std::optional<AsyncMutex::Lock> drop_lock_;
};

// Time from the death of one of its cells until that is overdue: reclaim_within and the margin.
int64_t reclaim_grace_us(const Tablet& tablet);

// The tablets of a shard.
using TabletTableOfShard = absl::flat_hash_map<TabletId, std::unique_ptr<Tablet>>;

}  // namespace cellar::engine
