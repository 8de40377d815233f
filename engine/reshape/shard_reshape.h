// ShardReshape: one shard's part in a reshape (reshape.h), called from shard 0: the parents' shard
// settles and seals them and lets them go, the children's opens them beside what serves and puts
// them in place.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/catalog/reshape_plan.h"
#include "engine/tablet/shard_context.h"
#include "engine/tablet/tablet.h"
#include "io/loop/async.h"

namespace cellar::engine {

// One shard, and one reshape at a time.
class ShardReshape {
 public:
  // A tablet with less in memory is sealed at once.
  static constexpr size_t kSettledBytes = 1u << 20;
  static constexpr int kSettleFlushes = 4;  // at most

  ShardReshape(ShardContext& shard, TabletTableOfShard& tablets)
      : shard_(shard), tablets_(tablets) {}

  // ---- the parents' shard; the tablets are here, or ABORTED
  // Flushes until little is left to flush.
  Async<Result<void>> settle(TabletId id);
  Result<std::string> split_row(TabletId id) const;
  Result<std::vector<TableItem>> tables_of(TabletId id) const;
  // See shard_reshape.h. All or none; `ranges` are the children's.
  Async<Result<std::vector<SealedTablet>>> seal(std::vector<TabletId> ids,
                                                std::vector<KeyRange> ranges);
  void unseal(const std::vector<TabletId>& ids);
  // See Tablet.
  void share_tables(const std::vector<TabletId>& ids);
  // They are gone for new requests, their tables go when their readers do.
  std::vector<std::unique_ptr<Tablet>> take_out(const std::vector<TabletId>& ids);
  // Where this shard's trusted clock stands: no answer of its tablets was judged later.
  int64_t now_us() const { return shard_.runtime.clock.now_us(); }
  // Ends what is under way on them.
  Async<void> finish(std::vector<std::unique_ptr<Tablet>> gone, LogId open_log);

  // ---- the children's shard
  // Opens tables that children will name, as far as it can, so that stage() finds them open.
  Async<void> open_ahead(std::vector<TableItem> tables);
  // Makes the children, for nobody to see; unstage() throws them away and what was opened ahead.
  Async<Result<void>> stage(std::vector<TabletSeed> seeds);
  void unstage();
  // They serve. Versions of their manifest entries, in the order of staging.
  void install(const std::vector<uint64_t>& versions);
  LogPosition log_end() const { return shard_.log->end(); }
  void raise_clock(int64_t reading_us) { shard_.runtime.clock.raise(reading_us); }

 private:
  Result<Tablet*> find(TabletId id) const;

  ShardContext& shard_;
  TabletTableOfShard& tablets_;
  std::vector<std::unique_ptr<Tablet>> staged_;
  std::vector<Ref<TabletTable>> ahead_;
};

// Sealing: a tablet stops taking writes and comes to rest, so that a reshape (reshape.h) may put
// other tablets in its place. Reads go on.
//
// Order: conditions under way finish (row_lock_table.h), writes are refused, commits on their way
// become visible, what is in memory is flushed, and the edit lock is taken: from here on nothing of
// the tablet changes, in memory or on disk, until it is unsealed or gone.

// ABORTED when it was unsealed meanwhile or is gone; what the flush answers. On an error the tablet
// takes writes again.
Async<Result<void>> seal_tablet(Tablet& tablet);

// It takes writes again. Also while seal_tablet() is under way, which then fails when it gets to
// see it.
void unseal_tablet(Tablet& tablet);

}  // namespace cellar::engine
