// Reshape: parent tablets of a table are replaced by child tablets, while the node serves: a split
// (one by two), a merge (two neighbours by one) or a move (one by itself on another shard, in its
// next epoch). No data is copied: children name their parents' tables, each with its rows.
//
// Runs on shard 0, one at a time; from the hold on also under the catalog lock.
//
//   1. settle    parents are flushed until little is in memory; of a move the target opens the
//                tables. Everything serves. Takes as long as it takes.
//   2. hold      the maps say `held`: routers keep new writes waiting. Then each shard makes one
//                round trip to the parents' shard; a mailbox keeps the order of a pair, so every
//                write that was handed over before has been submitted by then.
//   3. seal      parents refuse writes, come to rest and flush the little there is
//   (shard_reshape.h). Takes
//                at most kHoldUs, or the reshape is given up.
//   4. stage     the children are opened beside their parents, for nobody to see.
//   5. edit      one edit of the manifest: parents out, children in, with their tables, their place
//                in the open log, and the ids taken. This is the moment.
//   6. install   children serve reads, still held; maps say so; each shard makes a round trip to
//                the parents' shard again, so reads handed over before have got there.
//   7. let go    parents leave; children take writes: the maps say so. Cursors that still read a
//                parent keep what they read.
//
// Invariants
//   1. At every moment the tablets of a table in the manifest cover each row once, and so do those
//      in each shard's map.
//   2. A row has one tablet that takes writes, or none: a parent takes none from 3 on, a child none
//      before 7. So what a parent shows to reads in 6 is all there is.
//   3. Children have nothing in any log: everything was flushed in 3, and their spans begin where
//      the log of their shard ends. What a log still holds of the parents has another id or an
//      earlier epoch, and replay passes it over.
//   4. Stamps go on: children stamp above the last stamp of every parent. Time goes on: the clock
//   of
//      the children's shard is raised to that of the parents' before a child answers a read, and
//      again once the parents answer none.
//   5. A blob that parents name is counted for the children before any of them serves
//      (obsolete_blobs.h), and for a parent until its last reader is gone.
//
// Failure. Before 5, and when 5 is refused: parents take writes again, nothing has happened. When 5
// may or may not have gone through, every shard stops its writes, as after every edit of unknown
// outcome; the next start finds the parents or the children, either whole. A crash is the same: the
// edit decides.
//
// Example: tablet 3 [, ) at epoch 1 with tables A (rows a to k) and B (rows c to x) is split at m:
// 4 [, m) names A and B up to m, 5 [m, ) names B from m on, both at epoch 2. B is counted thrice
// (3, 4, 5) until 3 has no reader any more, and goes when 4 and 5 have merged theirs away.
#pragma once

#include <string>
#include <vector>

#include "engine/catalog/reshape_plan.h"
#include "engine/node/node_impl.h"

namespace cellar::engine {

// On shard 0, on the stack of one call. See node.h for what each promises.
class Reshape {
 public:
  static constexpr int64_t kHoldUs = 5'000'000;  // how long a seal may keep writes waiting

  explicit Reshape(NodeImpl& node) : node_(node) {}
  Async<Result<std::vector<TabletDescriptor>>> split(TabletId id, std::string row);
  Async<Result<TabletDescriptor>> merge(TabletId left, TabletId right);
  Async<Result<TabletDescriptor>> move(TabletId id, ShardId to);

 private:
  using Children = std::vector<TabletDescriptor>;
  struct SealRace;

  ShardReshape& at(ShardId shard) { return node_.part(shard).engine.reshape(); }
  // Runs fn(the shard's part) there; fn answers Async<Result<...>>.
  template <class F>
  auto on(ShardId shard, F fn);

  Async<Result<TabletDescriptor>> move_settled(TabletId id, ShardId to);
  Async<Result<Children>> move_opened(TabletDescriptor tablet, ShardId to);
  Async<Result<void>> settle(const TabletDescriptor& tablet);
  // Has every blob that both name in rows that touch.
  Async<Result<void>> make_unitable(const TabletDescriptor& left, const TabletDescriptor& right);

  // Steps 2 to 7, under the catalog lock.
  Async<Result<Children>> run(Reshaping reshaping);
  Async<Result<ReshapeEdit>> replace(const Reshaping& reshaping);
  Async<Result<std::vector<SealedTablet>>> seal_in_time(const Reshaping& reshaping);
  Async<void> seal_into(SealRace& race);
  Async<Result<void>> let_go(const Reshaping& reshaping);
  Async<Result<void>> give_up(const Reshaping& reshaping);
  Async<Result<void>> hand_time_over(const Reshaping& reshaping);
  void count_blobs(const std::vector<SealedTablet>& parents, const ReshapeEdit& edit);
  Async<Result<void>> publish_and_fence(ShardId owner);

  NodeImpl& node_;
};

}  // namespace cellar::engine
