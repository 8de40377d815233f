// Engine: the tablets of one shard, their log and their memory. Lives on its shard, is called only
// there, and takes no locks. Node (node.h) builds one per shard.
//
// Write: submit() validates, assigns the commit stamp, appends to the shard's log and inserts
// into the memtable, in one synchronous call. The commit becomes visible, and `done` runs, when the
// log reports it durable at its level and every earlier commit of its tablet is visible. Read:
// open_scan() returns a cursor whose run() is one synchronous call while everything is in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/index_state.h"
#include "engine/merge_record.h"
#include "engine/model/index_read_spec.h"
#include "engine/model/modify.h"
#include "engine/model/mutation.h"
#include "engine/model/read_spec.h"
#include "engine/model/token.h"
#include "engine/model/types.h"
#include "engine/store/log_store.h"
#include "io/base/result.h"
#include "io/loop/async.h"

namespace cellar {
class Clock;  // io/base/clock.h
}

namespace cellar::engine {

class IndexScan;   // engine/index_scan.h
class ScanCursor;  // engine/read/scan.h
struct ReadStart;  // engine/read/scan.h
class Tablet;
struct FilterPlan;    // engine/filter/compiled_filter.h
struct FlowFigures;   // engine/shard_figures.h
struct ShardFigures;  // engine/shard_figures.h

// One commit in progress, owned by the caller; must not move until `done` has run. `done` runs on
// the shard, exactly once; for a refusal it may run inside submit().
struct Write {
  TabletId tablet;
  Epoch epoch;                       // 0: any; otherwise ABORTED unless it is the tablet's epoch
  std::optional<Durability> level;   // absent: the table's
  RowMutation mutation;              // viewed until submit() returns
  std::optional<RangeDelete> range;  // instead of `mutation`: DropRowRange, clipped to the tablet
  // The token of a DropRowRange, with `range` as the client requested it (range_tokens.h); viewed
  // until `done` has run. null: no token.
  const WriteToken* range_token = nullptr;
  void (*done)(Write& write) = nullptr;
  void* context = nullptr;

  // Results.
  std::optional<Error> error;
  CommitStamp stamp;

  // Used by the engine.
  const TokenEntry* token = nullptr;  // committed with the mutation, which then may be empty
  LogAppend append;
  Tablet* owner = nullptr;
  Write* next = nullptr;
};

// One row that is read and then written as one commit: CheckAndMutateRow (`rules` empty),
// ReadModifyWriteRow or, with `plain`, a MutateRow with a token, which reads only the token. Owned
// by the caller; it and what it views must not move until `done` has run, which happens exactly
// once, possibly inside submit(). It may read commits that are not durable yet; its answer,
// including a refusal based on them, waits until they are.
struct ConditionalWrite {
  TabletId tablet;
  Epoch epoch;                      // as in Write
  std::optional<Durability> level;  // as in Write
  Bytes row;
  // the condition: it lets some cell of the row pass; null: every cell passes
  const FilterPlan* filter = nullptr;
  std::span<const Mutation> then_mutations;
  std::span<const Mutation> else_mutations;
  std::span<const ModifyRule> rules;
  bool plain = false;  // applies then_mutations unconditionally
  WriteToken token;    // token_memory.h; may be absent
  void (*done)(ConditionalWrite& write) = nullptr;
  void* context = nullptr;

  // Results.
  std::optional<Error> error;
  bool matched = false;          // a cell passed
  bool repeated = false;         // the token was known: this is the first answer again,
  bool answer_not_kept = false;  // without its cells, which were not kept
  // made by the rules, one per column, by column; views into `values`
  std::vector<Mutation> new_cells;
  std::string values;

  // Used by the engine.
  Write commit;
  std::string token_id;
  std::string token_record;
  TokenEntry token_entry;
};

struct EngineStats {
  uint64_t tablets = 0;
  uint64_t tables_on_disk = 0;  // SSTables
  uint64_t table_bytes = 0;     // of the SSTables
  uint64_t log_bytes = 0;
  uint64_t log_pending_bytes = 0;  // appended and still in memory, not on disk
  uint64_t memtable_bytes = 0;
  // part of the memtable bytes: flushed, but still held by readers
  uint64_t pinned_memtable_bytes = 0;
  uint64_t cache_bytes = 0;     // blocks, with the gaps between them
  uint64_t metadata_bytes = 0;  // indexes and filters held in memory
  uint64_t tokens = 0;          // held in memory
  uint64_t commits = 0;
  uint64_t flushes = 0;
  uint64_t compactions = 0;
  uint64_t reclaim_turns = 0;    // number of searches for something to reclaim
  uint64_t torn_tail_bytes = 0;  // found and discarded at the last start
  uint64_t replayed_commits = 0;
  // The log or the manifest failed, or the node was started read-only: reads are served, writes are
  // UNAVAILABLE.
  bool read_only = false;
  bool read_only_start = false;  // since the start: nothing is written (Node)
};

// A row that is read or written soon.
struct ExpectedRow {
  TabletId tablet;
  Bytes row;
  bool written = false;
};
inline constexpr size_t kMostExpectedRows = 16;

class Engine {
 public:
  virtual ~Engine() = default;

  // See the file head. Errors: INVALID_ARGUMENT, NOT_FOUND (family), OUT_OF_RANGE (guards.h),
  // ABORTED (the tablet is not on this shard, or has another epoch: fetch the table map again),
  // RESOURCE_EXHAUSTED with a retry hint (memory or log full), UNAVAILABLE (read-only). For a range
  // token those of a ConditionalWrite's token.
  virtual void submit(Write& write) = 0;

  // Errors as above, and FAILED_PRECONDITION (a value to increment that is not 8 bytes),
  // OUT_OF_RANGE (an increment that overflows). The mutation list that is not applied is checked
  // for form and families. For a token: INVALID_ARGUMENT (malformed, issued too far ahead, known
  // with other content), FAILED_PRECONDITION and maybe applied (issued too long ago),
  // RESOURCE_EXHAUSTED (the memory for tokens is full).
  virtual void submit(ConditionalWrite& write) = 0;

  // A cursor over the part of spec.rows that lies in the tablet. It pins what it reads, so it
  // should be short-lived. ABORTED when the tablet is not on this shard, or held by a change of
  // rules: the next table map tells.
  virtual Result<std::unique_ptr<ScanCursor>> open_scan(TabletId tablet, Epoch epoch,
                                                        const ReadSpec& spec) = 0;

  // open_scan(), with its errors, and the cursor's first run(), in slices by `clock` unless it is
  // null. Returns no cursor when that gives the whole answer; a read of one row in memory never
  // creates one.
  virtual Result<ReadStart> start_read(TabletId tablet, Epoch epoch, const ReadSpec& spec,
                                       CellSink& sink, const Clock* clock) = 0;

  // start_read() or submit() of these rows follows at once: loads what they will look at into the
  // processor's cache, for all of them at the same time. A hint, which changes no answer. At most
  // kMostExpectedRows; the rest is not looked at.
  virtual void expect_rows(std::span<const ExpectedRow> rows) = 0;

  // A read through an index over the tablet's part of spec.rows. Errors of open_scan(); NOT_FOUND:
  // no such index; INVALID_ARGUMENT (validate_index_read); FAILED_PRECONDITION with the share done:
  // it is not ready. DATA_LOSS: a table of the tablet is lost.
  virtual Result<std::unique_ptr<IndexScan>> open_index(TabletId tablet, Epoch epoch,
                                                        const IndexReadSpec& spec) = 0;

  // Resumes when everything committed before the call is in SSTables; an empty tablet writes no
  // table.
  virtual Async<Result<void>> flush(TabletId tablet) = 0;
  // Flushes, then merges everything into one run.
  virtual Async<Result<void>> compact(TabletId tablet) = 0;
  // The node ends, and nothing that somebody waits for may hold it up: calls off the merge that
  // runs and all later ones, and fails writes in the log for which the disk has no room.
  virtual void end_waits() = 0;

  // About the tablet's size in bytes: its tables on disk and what was written since. ABORTED when
  // the tablet is not on this shard.
  virtual Result<uint64_t> tablet_bytes(TabletId tablet) const = 0;

  virtual EngineStats stats() const = 0;
  virtual ShardFigures shard_figures() const = 0;
  virtual FlowFigures flow_figures() const = 0;
  // The last ended merges, oldest first (tablet/merge_history.h).
  virtual std::vector<MergeRecord> merge_history() const = 0;

  // Takes this much of the shard's memory from the block cache, instead of what was withheld
  // before: memory that the process has and the engine cannot see (shard/memory_budget.h).
  // Returns what it withholds, which may be less.
  virtual size_t withhold_memory(size_t bytes) = 0;
};

}  // namespace cellar::engine
