// ShardReshape: one shard's part in a reshape (reshape.h), called from shard 0: the parents' shard
// flushes, quiesces and removes them; the children's shard opens and installs them.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/catalog/reshape_plan.h"
#include "engine/tablet/shard_context.h"
#include "engine/tablet/tablet.h"
#include "io/loop/async.h"

namespace cellar::engine {

// One shard, one reshape at a time.
class ShardReshape {
 public:
  // A tablet with less data in memory is quiesced at once.
  static constexpr size_t kSettledBytes = 1u << 20;
  static constexpr int kSettleFlushes = 4;  // upper bound

  ShardReshape(ShardContext& shard, TabletTableOfShard& tablets)
      : shard_(shard), tablets_(tablets) {}

  // ---- the parents' shard; ABORTED if the tablets are not here
  // Flushes until little is left in memory.
  Async<Result<void>> flush_ahead(TabletId id);
  Result<std::string> split_row(TabletId id) const;
  Result<std::vector<TableItem>> tables_of(TabletId id) const;
  // See quiesce_tablet(). All or none; `ranges` are the children's.
  Async<Result<std::vector<QuiescedTablet>>> quiesce(std::vector<TabletId> ids,
                                                     std::vector<KeyRange> ranges);
  void resume(const std::vector<TabletId>& ids);
  // These tables are served from memory and cannot be opened again: a merge writes them anew.
  void note_damage(const std::vector<TabletId>& ids, const std::set<BlobId>& blobs);
  // See Tablet::count_references.
  void count_references(const std::vector<TabletId>& ids);
  // Removes the tablets for new requests; their tables stay until their readers end.
  std::vector<std::unique_ptr<Tablet>> take_out(const std::vector<TabletId>& ids);
  // This shard's trusted time: no answer of its tablets was judged later.
  int64_t now_us() const { return shard_.runtime.clock.now_us(); }
  // Waits for work in progress on them.
  Async<void> finish(std::vector<std::unique_ptr<Tablet>> gone, LogId open_log);

  // ---- the children's shard
  // Opens tables of the future children as far as possible, so that stage() finds them open.
  Async<void> open_ahead(std::vector<TableItem> tables);
  // Makes the children, invisibly; unstage() discards them and the tables opened ahead.
  // Returns the tables that could not be opened; their rows would not be served.
  Async<Result<std::set<BlobId>>> stage(std::vector<TabletSeed> seeds);
  void unstage();
  // Makes the children serve, with the versions of their manifest entries in the order of staging.
  void install(const std::vector<uint64_t>& versions);
  LogPosition log_end() const { return shard_.wal.log->end(); }
  void raise_clock(int64_t reading_us) { shard_.runtime.clock.raise(reading_us); }

 private:
  Result<Tablet*> find(TabletId id) const;

  ShardContext& shard_;
  TabletTableOfShard& tablets_;
  std::vector<std::unique_ptr<Tablet>> staged_;
  std::vector<Ref<TabletTable>> ahead_;
};

// Quiescing: a tablet stops accepting writes and becomes idle, so that a reshape (reshape.h) can
// replace it. Reads continue.
//
// Order: open conditional writes finish (row_lock_table.h), writes are refused, pending commits
// become visible, memory is flushed, and the edit lock is taken: from here on the tablet does not
// change, in memory or on disk, until it is resumed or removed.
//
// ABORTED if it was resumed or removed meanwhile; also errors of the flush. After an error the
// tablet accepts writes again.
Async<Result<void>> quiesce_tablet(Tablet& tablet);

// Makes the tablet accept writes again. A quiesce_tablet() in progress then fails.
void resume_tablet(Tablet& tablet);

}  // namespace cellar::engine
