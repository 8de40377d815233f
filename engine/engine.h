// Engine: the tablets of one shard, their log, their memory. Lives on its shard and is called only
// there; nothing in it is locked. Node (node.h) builds one per shard.
//
// Write: submit() validates, stamps, appends to the shard's log and inserts into the memtable, all
// in one plain call; the commit becomes visible, and done runs, when the log says that it is
// durable at its level and every earlier commit of its tablet is visible. Read: open_scan() gives a
// cursor whose run() is one plain call while everything is in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

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

class ScanCursor;  // engine/read/scan.h
struct ReadStart;  // likewise
class Tablet;
struct FilterPlan;  // engine/filter/compiled_filter.h

// One commit on its way, owned by whoever waits; stays put until `done` has run. `done` runs on the
// shard, once; for a refusal it may run inside submit().
struct Write {
  TabletId tablet;
  Epoch epoch;                       // 0: any; else must be the tablet's, or ABORTED
  std::optional<Durability> level;   // absent: the table's
  RowMutation mutation;              // viewed until submit() returns
  std::optional<RangeDelete> range;  // instead of `mutation`: DropRowRange, clipped to the tablet
  // Of a DropRowRange, with `range` as it was asked for (range_tokens.h); viewed until `done` has
  // run. null: it has none.
  const WriteToken* range_token = nullptr;
  void (*done)(Write& write) = nullptr;
  void* context = nullptr;

  // Results.
  std::optional<Error> error;
  CommitStamp stamp;

  // Of the engine.
  const TokenEntry* token = nullptr;  // committed with the mutation, which then may be empty
  LogAppend append;
  Tablet* owner = nullptr;
  Write* next = nullptr;
};

// One row, read and then written as one commit: CheckAndMutateRow (`rules` empty),
// ReadModifyWriteRow or, `plain`, a MutateRow with a token, of which only the token is looked for.
// Owned by whoever waits; it and what it views stay put until `done` has run, once, perhaps inside
// submit(). It may build on commits that are not durable yet; the answer waits for them, refusals
// that rest on what was read included.
struct ConditionalWrite {
  TabletId tablet;
  Epoch epoch;                      // as of Write
  std::optional<Durability> level;  // as of Write
  Bytes row;
  const FilterPlan* filter = nullptr;  // does it let any cell of the row pass? null: pass all
  std::span<const Mutation> then_mutations;
  std::span<const Mutation> else_mutations;
  std::span<const ModifyRule> rules;
  bool plain = false;  // then_mutations, whatever the row holds
  WriteToken token;    // token_memory.h; not present: none
  void (*done)(ConditionalWrite& write) = nullptr;
  void* context = nullptr;

  // Results.
  std::optional<Error> error;
  bool matched = false;             // a cell passed
  bool repeated = false;            // the token was known: this is the first answer again,
  bool answer_not_kept = false;     // of which the cells are not known any more
  std::vector<Mutation> new_cells;  // of the rules, one a column, by column; views into `values`
  std::string values;

  // Of the engine.
  Write commit;
  std::string token_id;
  std::string token_record;
  TokenEntry token_entry;
};

struct EngineStats {
  uint64_t tablets = 0;
  uint64_t tables_on_disk = 0;  // SSTables
  uint64_t table_bytes = 0;     // of them
  uint64_t log_bytes = 0;
  uint64_t log_pending_bytes = 0;  // appended and not on disk yet, in memory
  uint64_t memtable_bytes = 0;
  uint64_t pinned_memtable_bytes = 0;  // of them: flushed, and held by readers
  uint64_t cache_bytes = 0;
  uint64_t metadata_bytes = 0;  // indexes and filters held in memory
  uint64_t tokens = 0;          // remembered in memory
  uint64_t commits = 0;
  uint64_t flushes = 0;
  uint64_t compactions = 0;
  uint64_t reclaim_turns = 0;    // how often it was looked for something to reclaim
  uint64_t torn_tail_bytes = 0;  // found and discarded at the last start
  uint64_t replayed_commits = 0;
  // The log or the manifest failed, or the node was started read-only: reads go on, writes are
  // UNAVAILABLE.
  bool read_only = false;
  bool read_only_start = false;  // since the start: nothing was or will be written (Node)
};

class Engine {
 public:
  virtual ~Engine() = default;

  // See the head. Refusals: INVALID_ARGUMENT, NOT_FOUND (family), OUT_OF_RANGE (guards.h), ABORTED
  // (not here, or another epoch: ask for the table map again), RESOURCE_EXHAUSTED with a retry hint
  // (memory or log full), UNAVAILABLE (read-only). Of a range token those of a ConditionalWrite's,
  // and FAILED_PRECONDITION where the data directory's format knows none.
  virtual void submit(Write& write) = 0;

  // As above; moreover FAILED_PRECONDITION (a value to increment that is not 8 bytes), OUT_OF_RANGE
  // (an increment that overflows). The list that is not taken is checked for form and families. Of
  // a token: INVALID_ARGUMENT (its form, issued too far ahead, known for other content),
  // FAILED_PRECONDITION and maybe applied (issued too long ago), RESOURCE_EXHAUSTED (too many are
  // remembered).
  virtual void submit(ConditionalWrite& write) = 0;

  // A cursor over the part of spec.rows that lies in the tablet. Pins what it reads; keep it no
  // longer than needed. ABORTED when the tablet is not here.
  virtual Result<std::unique_ptr<ScanCursor>> open_scan(TabletId tablet, Epoch epoch,
                                                        const ReadSpec& spec) = 0;

  // As open_scan, and the cursor's first run(), with slices by `clock` if it is not null. Where
  // that gives the whole answer no cursor comes back, and a read of one row that is all in memory
  // never makes one.
  virtual Result<ReadStart> start_read(TabletId tablet, Epoch epoch, const ReadSpec& spec,
                                       CellSink& sink, const Clock* clock) = 0;

  // Resumes when everything committed before is in SSTables; an empty tablet flushes to nothing.
  virtual Async<Result<void>> flush(TabletId tablet) = 0;
  // Flushes, then merges everything into one run.
  virtual Async<Result<void>> compact(TabletId tablet) = 0;

  // About how many bytes the tablet holds: of its tables on disk, and what was written since.
  // ABORTED when not here.
  virtual Result<uint64_t> tablet_bytes(TabletId tablet) const = 0;

  virtual EngineStats stats() const = 0;
};

}  // namespace cellar::engine
