// Reshape: replaces parent tablets of a table by child tablets while the node serves: a split (one
// by two), a merge (two neighbours by one) or a move (one by itself on another shard, in its next
// epoch). No data is copied: children name their parents' tables, each with its rows.
//
// Runs on shard 0, one at a time; from the hold on also under the catalog lock.
//
//   1. flush     parents are flushed until little is in memory; for a move the target opens the
//                tables. Everything serves. No time limit.
//   2. hold      the maps say `held`: routers let new writes wait. Then each shard makes one round
//                trip to the parents' shard; a mailbox keeps the order of a pair, so every write
//                sent before has been submitted by then.
//   3. quiesce   parents refuse writes, become idle and flush the rest (shard_reshape.h). After
//                kHoldUs the reshape is abandoned.
//   4. stage     the children are opened beside their parents, invisibly.
//   5. edit      one edit of the manifest: parents out, children in, with their tables, their place
//                in the open log, and the ids taken. This is the commit point.
//   6. install   children serve reads, still held; the maps are published; each shard makes a round
//                trip to the parents' shard again, so reads sent before have arrived.
//   7. remove    parents are removed; children accept writes: the maps are published. Cursors on a
//                parent keep their sources to the end of a row.
//
// Invariants
//   1. At every moment the tablets of a table in the manifest cover each row once, and so do those
//      in each shard's map.
//   2. At most one tablet of a row accepts writes: a parent none from step 3 on, a child none
//      before step 7. What a parent shows to reads in step 6 is therefore complete.
//   3. Children have no data in any log: everything was flushed in step 3, and their spans start at
//      the end of their shard's log. Entries of the parents in a log have another id or an earlier
//      epoch, and replay skips them.
//   4. Stamps increase: children stamp above the last stamp of every parent. Time does too: the
//      clock of the children's shard is raised to that of the parents' before a child answers a
//      read, and again once the parents answer none.
//   5. A blob that parents name is counted for the children before any of them serves
//      (obsolete_blobs.h), and for a parent until its last reader ends.
//
// Failure. Before step 5, and if it is refused, parents accept writes again and nothing has
// changed. If the outcome of step 5 is unknown, every shard stops its writes, as after every such
// edit; the next start finds either the parents or the children, complete. The same holds for a
// crash: the edit decides.
//
// Example: tablet 3 [, ) at epoch 1 with tables A (rows a to k) and B (rows c to x) is split at m:
// 4 [, m) names A and B up to m, 5 [m, ) names B from m on, both at epoch 2. B is counted three
// times (3, 4, 5) until 3 has no reader, and is removed when 4 and 5 have merged their parts.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/catalog/reshape_plan.h"
#include "engine/files/obsolete_blobs.h"
#include "engine/node/node_catalog.h"
#include "engine/node/node_shards.h"

namespace cellar::engine {

// On shard 0. See node.h for the contracts.
class Reshape {
 public:
  static constexpr int64_t kHoldUs = 5'000'000;  // longest time quiescing lets writes wait

  // `turn`: held by the reshape in progress. `read_only`: why nothing may be written.
  Reshape(NodeShards& shards, NodeCatalog& catalog, BlobRefCounts& shared_blobs, AsyncMutex& turn,
          const std::optional<Error>& read_only)
      : shards_(shards),
        catalog_(catalog),
        shared_blobs_(shared_blobs),
        turn_(turn),
        read_only_(read_only) {}
  Async<Result<std::vector<TabletDescriptor>>> split(TabletId id, std::string row);
  Async<Result<TabletDescriptor>> merge(TabletId left, TabletId right);
  Async<Result<TabletDescriptor>> move(TabletId id, ShardId to);

 private:
  using Children = std::vector<TabletDescriptor>;

  ShardReshape& at(ShardId shard) { return shards_.engine(shard).reshape(); }
  // Runs fn(the shard's part) there; fn returns Async<Result<...>>.
  template <class F>
  auto on(ShardId shard, F fn);

  Async<Result<TabletDescriptor>> move_flushed(TabletId id, ShardId to);
  Async<Result<Children>> move_opened(TabletDescriptor tablet, ShardId to);
  Async<Result<void>> flush_ahead(const TabletDescriptor& tablet);
  // Ensures that the table lists of both can be united, if necessary by compacting the right
  // tablet.
  Async<Result<void>> make_unitable(const TabletDescriptor& left, const TabletDescriptor& right);

  // Steps 2 to 7, under the catalog lock.
  Async<Result<Children>> run(Reshaping reshaping);
  Async<Result<ReshapePlan>> replace(const Reshaping& reshaping);
  Async<std::unexpected<Error>> keep_parents(const Reshaping& reshaping, std::set<BlobId> lost);
  Async<Result<std::vector<QuiescedTablet>>> quiesce_in_time(const Reshaping& reshaping);
  Async<Result<void>> remove_parents(const Reshaping& reshaping);
  Async<Result<void>> give_up(const Reshaping& reshaping);
  Async<Result<void>> hand_time_over(const Reshaping& reshaping);
  void count_blobs(const std::vector<QuiescedTablet>& parents, const ReshapePlan& plan);
  Async<Result<void>> publish_and_fence(ShardId owner);

  NodeShards& shards_;
  NodeCatalog& catalog_;
  BlobRefCounts& shared_blobs_;
  AsyncMutex& turn_;
  const std::optional<Error>& read_only_;
};

}  // namespace cellar::engine
