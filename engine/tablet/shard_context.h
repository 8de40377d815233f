// ShardContext: what everything in one shard's engine shares. Owned by ShardEngine; lives as long.
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

// What a tablet tells its shard. Called from inside plain calls: remembers and returns.
class TabletWatcher {
 public:
  virtual ~TabletWatcher() = default;
  // The tablet's active memtable is full.
  virtual void memtable_full(Tablet& tablet) = 0;
  // The shard's memtables take more than the soft bound.
  virtual void memory_short() = 0;
  // A run was added.
  virtual void runs_changed(Tablet& tablet) = 0;
  // Durably, the tablet names these logs of earlier sessions no more.
  virtual void logs_released(std::vector<LogId> logs) = 0;
};

// Hands out blob ids: session and shard are in them, so that none is ever used twice. A session has
// kBlobIdsPerSession of them; when half are used, another session is asked for, and used as soon as
// it is there. One shard.
class SessionBlobIds final : public BlobIds {
 public:
  static constexpr uint32_t kAskAt = kBlobIdsPerSession / 2;
  static constexpr uint32_t kRetryMs = 100;

  // `ask` begins to draw a session; renew() or not_drawn() follows, not from inside it.
  SessionBlobIds(SessionEpoch session, ShardId shard, std::function<void()> ask)
      : session_(session), shard_(shard.value()), ask_(std::move(ask)) {}
  Result<BlobId> next_blob_id() override;
  // REQUIRES: no id of this shard was ever made of the session.
  void renew(SessionEpoch session);
  // The next id asks again.
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
  size_t memtable_hard_bytes = 0;  // of memtables, those that cursors hold included
  size_t open_blocks_bytes = 0;    // what the open blocks of one scan or merge should stay within
  size_t refused_bytes = 0;        // what a write wanted that was refused for memory
  std::optional<Error> flush_failure{};  // why the last flush failed; none: it went through
  TokenMemory tokens;
  RangeTokenRoom range_tokens{};
  OpenTables open_tables{};
  LogDeaths log_deaths{};
  std::unique_ptr<Log> log;      // set once recovery has begun it
  std::optional<Error> stopped;  // why the shard takes no more writes
  TabletWatcher* watcher = nullptr;
  AsyncMutex compaction_lock{};        // one compaction at a time
  MergeJob* compaction = nullptr;      // the one that runs now,
  const Tablet* compacting = nullptr;  // and whose it is
  std::vector<BlobId> merging{};       // what goes into it,
  int64_t merge_began_us = 0;          // and since when; trusted
  Pace reclaim_pace{runtime.timers};   // of merges that reclaim; others never rest
  size_t reclaims_waiting = 0;         // for the compaction lock
  int64_t reclaim_rests_until_us = 0;  // the timers': nothing is reclaimed before
  OldVersions old_versions{};

  uint64_t log_growth = 0;  // payload bytes appended since someone last looked

  // Counters of EngineStats.
  uint64_t commits = 0;
  uint64_t flushes = 0;
  uint64_t compactions = 0;
  uint64_t flushed_bytes = 0;    // written to tables by flushes,
  uint64_t compacted_bytes = 0;  // and by merges
  uint64_t reclaim_turns = 0;
  int64_t reclaim_edit_us = 0;  // spent on taking files away that need no merge

  // What flushed memtables that cursors hold may take; a part of the hard bound.
  size_t pinned_bound() const { return memtable_hard_bytes / 2; }
  // What is left of the hard bound for memtables that are not flushed: beyond it writes are
  // refused, and from three quarters of it on the biggest is flushed.
  size_t memtable_room() const {
    return memtable_hard_bytes - std::min(memtables.pinned_bytes, pinned_bound());
  }
  bool memtables_are_many() const { return memtables.bytes > memtable_room() / 4 * 3; }

  // True when the shard takes no more writes; notices a log that has failed meanwhile.
  bool is_stopped();
  // From here on the shard is read-only. The first reason stays.
  void stop_writes(std::string_view why, const Error& error);
};

// The refusal of a read-only shard.
Error read_only_error(const ShardContext& shard);

}  // namespace cellar::engine
