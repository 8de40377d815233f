// ShardContext: the services and state shared within one shard's engine. Owned by ShardEngine,
// whose lifetime it has.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/compaction/merge_job.h"
#include "engine/files/manifest_client.h"
#include "engine/files/obsolete_blobs.h"
#include "engine/options.h"
#include "engine/sstable/block_loader.h"
#include "engine/store/blob_store.h"
#include "engine/store/log_store.h"
#include "engine/version/cursor_pin.h"
#include "engine/version/version.h"
#include "engine/write/flow_control.h"
#include "engine/write/log_deaths.h"
#include "engine/write/range_tokens.h"
#include "engine/write/token_memory.h"
#include "io/loop/event.h"
#include "io/loop/runtime.h"

namespace cellar::engine {

class Tablet;

// Notifications of a tablet to its shard. Calls are synchronous; implementations must only record
// them and must not suspend.
class TabletWatcher {
 public:
  virtual ~TabletWatcher() = default;
  virtual void memtable_full(Tablet& tablet) = 0;
  // The shard's memtables exceed the soft bound.
  virtual void memory_short() = 0;
  virtual void runs_changed(Tablet& tablet) = 0;
  // The tablet's durable manifest entry no longer names these logs of earlier sessions.
  virtual void logs_released(std::vector<LogId> logs) = 0;
};

// Generates blob ids from session, shard and a counter, so that no id is used twice. A session has
// kBlobIdsPerSession of them; when half are used another session is requested, which is used as
// soon as it arrives. Owned by one shard.
class SessionBlobIds final : public BlobIds {
 public:
  static constexpr uint32_t kAskAt = kBlobIdsPerSession / 2;
  static constexpr uint32_t kRetryMs = 100;

  // `ask` requests a session asynchronously: it must be answered by renew() or not_drawn(), not
  // from inside the call.
  SessionBlobIds(SessionEpoch session, ShardId shard, std::function<void()> ask)
      : session_(session), shard_(shard.value()), ask_(std::move(ask)) {}
  Result<BlobId> next_blob_id() override;
  // REQUIRES: the session has never been used for an id of this shard.
  void renew(SessionEpoch session);
  // The request failed; the next id requests again.
  void not_drawn() { asked_ = false; }

 private:
  SessionEpoch session_;
  uint32_t shard_;
  std::function<void()> ask_;
  uint32_t counter_ = 0;
  bool asked_ = false;
};

struct ShardContext {
  ShardId shard;
  Runtime runtime;
  EngineOptions options;
  BlobStore& blobs;
  ManifestClient manifest;
  ObsoleteBlobs blob_ends;
  BlockLoader& loader;
  SessionBlobIds ids;
  MemtableGauge memtables;
  FlowControl flow{runtime.timers};
  Background background{runtime.clock.machine()};
  OpenCursors cursors{};
  size_t memtable_hard_bytes = 0;        // of memtables, including those held by cursors
  size_t open_blocks_bytes = 0;          // target for the open blocks of one scan or merge
  size_t refused_bytes = 0;              // size of the last write that was refused for memory
  std::optional<Error> flush_failure{};  // why the last flush failed; nullopt: it succeeded
  TokenMemory tokens;
  RangeTokenRoom range_tokens{};
  OpenTables open_tables{};
  LogDeaths log_deaths{};
  std::unique_ptr<Log> log;      // set once recovery has begun it
  std::optional<Error> stopped;  // why the shard refuses writes
  TabletWatcher* watcher = nullptr;
  AsyncMutex compaction_lock{};        // one compaction at a time
  MergeJob* compaction = nullptr;      // the one that is running,
  const Tablet* compacting = nullptr;  // its tablet,
  std::vector<BlobId> merging{};       // its inputs,
  int64_t merge_began_us = 0;          // and its start; trusted time
  Pace reclaim_pace{runtime.timers};   // paces merges that reclaim; other merges never rest
  size_t reclaims_waiting = 0;         // number waiting for the compaction lock
  int64_t reclaim_rests_until_us = 0;  // clock of `timers`: nothing is reclaimed before
  OldVersions old_versions{};

  uint64_t log_growth = 0;  // payload bytes appended since the last check

  // Counters of EngineStats.
  uint64_t commits = 0;
  uint64_t flushes = 0;
  uint64_t compactions = 0;
  uint64_t flushed_bytes = 0;    // written to tables by flushes,
  uint64_t compacted_bytes = 0;  // and by merges
  uint64_t reclaim_turns = 0;
  int64_t reclaim_edit_us = 0;  // spent on removing files without a merge

  // Bound of flushed memtables held by cursors; part of the hard bound.
  size_t pinned_bound() const { return memtable_hard_bytes / 2; }
  // The part of the hard bound left for memtables that are not flushed. Above it writes are
  // refused; from three quarters of it the largest memtable is flushed.
  size_t memtable_room() const {
    return memtable_hard_bytes - std::min(memtables.pinned_bytes, pinned_bound());
  }
  bool memtables_are_many() const { return memtables.bytes > memtable_room() / 4 * 3; }

  // True when the shard refuses writes; detects a log that has failed meanwhile.
  bool is_stopped();
  // Makes the shard read-only. The first reason is kept.
  void stop_writes(std::string_view why, const Error& error);
};

// The refusal of a read-only shard.
Error read_only_error(const ShardContext& shard);

}  // namespace cellar::engine
