// DroppedTables: drops tables, restores them, and removes them at their end (SEMANTICS 5). On
// shard 0.
//
// A dropped table that can be restored is unreachable by name. Its manifest entry has a mark: when
// it was dropped, and until when it can be restored, which is the longest undo window of its
// families. The table maps omit it, so its name is free. Its tablets stay on their shards, hidden:
// they accept no writes and no reads, but flush, merge and are reclaimed like all others. So their
// cells continue to age, they do not retain logs, a start opens them like other tablets for any
// number of shards, and shared blobs are counted as before. Such a table costs as much as an idle
// table.
//
//   drop      edit: the mark        -> every map without it -> tablets hidden -> answer
//   restore   edit: no mark         -> tablets shown -> every map with it     -> answer
//   end       edit: table and tablets removed -> blobs are removed after their last reader
//
// Each step is one manifest edit, so a crash leaves the table before or after it. Without an undo
// window a drop ends the table at once. Otherwise DropKeeper ends it, after the
// margin of physical removal; from the first microsecond after the window the table cannot be
// restored, whether or not it has been removed.
//
// Bounds. Dropped tables count among the kMaxTables of the node until their end: at the bound no
// table can be created, but every table can be dropped and every dropped table restored.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/node/clock_keeper.h"
#include "engine/node/node_catalog.h"
#include "engine/node/node_shards.h"
#include "io/base/result.h"
#include "io/loop/event.h"
#include "io/loop/gate.h"
#include "io/loop/runtime.h"
#include "io/loop/timers.h"

namespace cellar::engine {

// Permanently removes dropped tables that can no longer be restored. On shard 0. It sleeps until
// the first is due and is woken when tables are dropped or restored; the next start continues its
// work.
class DropKeeper {
 public:
  // Trusted time may lag behind the timers, so it is read again, at intervals within these bounds.
  static constexpr int64_t kMostWaitUs = 600'000'000;
  static constexpr int64_t kLeastWaitUs = 1'000'000;
  // Pause after a failure.
  static constexpr int64_t kRetryUs = 10'000'000;

  // The trusted time at which the next table is due; INT64_MAX: none.
  using Due = std::function<int64_t()>;
  // Removes a table that is due.
  using EndOne = std::function<Async<Result<void>>()>;

  // `runtime` is shard 0's.
  DropKeeper(const Runtime& runtime, Due due_us, EndOne end_one);

  void serve();
  // The set of dropped tables has changed.
  void wake() { wake_.notify_all(); }
  Async<void> stop();

 private:
  static void on_timer(void* self) { static_cast<DropKeeper*>(self)->wake_.notify_all(); }
  Async<void> loop();

  Runtime runtime_;
  Due due_us_;
  EndOne end_one_;
  bool stopping_ = false;
  bool failed_ = false;  // the last attempt failed, which is logged once
  int64_t not_before_us_ = 0;
  ConditionVariable wake_;
  Timer timer_;
  Gate running_{"drop keeper"};
};

class DroppedTables {
 public:
  DroppedTables(NodeShards& shards, NodeCatalog& catalog, ClockKeeper& clock,
                const EngineOptions& options);

  // See Node::drop_table, restore_table and dropped_tables.
  Async<Result<void>> drop(std::string name, Author by);
  Async<Result<TableEntry>> restore(std::string name, Author by);
  Async<std::vector<DroppedTable>> list();

  // Starts the removal of tables whose time is over, until stop().
  void serve() { keeper_.serve(); }
  Async<void> stop() { return keeper_.stop(); }

 private:
  Async<Result<void>> hide_tablets(const TableEntry& entry, bool hidden);
  Async<Result<void>> end_due_table();
  Async<Result<void>> end_table(Catalog::Drop drop, std::vector<AuditEntry> entries, Author by);

  NodeShards& shards_;
  NodeCatalog& catalog_;
  ClockKeeper& clock_;
  const int64_t margin_us_;
  DropKeeper keeper_;
};

}  // namespace cellar::engine
