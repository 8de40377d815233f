// Version: the contents of a tablet at one moment: its memtables and its runs of tables. Immutable
// once published; the first write after a freeze, a flush and a compaction each publish a new one,
// which visits every table of the tablet: 60 to 95 us (median) with 1,200 tables in 16 to 90
// runs. A cursor pins the version that it reads, and with it the memory and the blobs
// (cursor_pin.h); a blob is removed when it is obsolete (no manifest entry names it) and the last
// version that holds it has been destroyed.
//
// Everything here belongs to one shard, so reference counters are not atomic.
//
// Order: newest first. For any row, every commit of an earlier source is newer than every commit of
// a later one. Keys carry stamps, so only pruning depends on this order.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/memtable/memtable.h"
#include "engine/model/schema.h"
#include "engine/read/source.h"
#include "engine/read/stop_record.h"
#include "engine/retention/family_retention.h"
#include "engine/retention/guards.h"
#include "engine/store/log_store.h"
#include "engine/version/memory_release.h"
#include "engine/version/tablet_table.h"

namespace cellar::engine {

// An immutable schema: an alteration installs another snapshot and does not change this one.
struct SchemaSnapshot final : ShardCounted<SchemaSnapshot> {
  // `gc_watermark`: the least of everything that a reader of the tablet meets.
  explicit SchemaSnapshot(TableSchema schema, CommitStamp gc_watermark = {})
      : value(std::move(schema)),
        guards(value),
        retention(value, gc_watermark),
        indexes(make_index_set(value.indexes)) {}
  const TableSchema value;
  const WriteGuards guards;
  const TableRetention retention;
  const IndexSetRef indexes;  // null: none
};

struct Version;

// What a cursor needs of a tablet that may be destroyed before it.
struct TabletFacts final : ShardCounted<TabletFacts>, VisibleStamp {
  CommitStamp visible;
  const Version* newest = nullptr;  // null: the tablet has been destroyed
  uint64_t schema_version = 0;
  bool reads_held = false;  // by a change of rules (alter_table.h)
  StopRecord stops;
  CommitStamp visible_stamp() const override { return visible; }
};

// Is told when the bytes of a gauge have changed. Must not change the gauge, but by free_some().
class MemtableGaugeWatcher {
 public:
  virtual void memtables_changed() = 0;

 protected:
  ~MemtableGaugeWatcher() = default;
};

// The bytes of all memtables of a shard.
struct MemtableGauge {
  size_t bytes = 0;         // of memtables that are not flushed
  size_t frozen_bytes = 0;  // part of `bytes`: frozen and waiting for their flush
  size_t pinned_bytes = 0;  // flushed memtables that cursors still hold
  size_t all_bytes() const { return bytes + pinned_bytes; }
  BlockPool blocks{};       // of all memtables
  MemoryRelease release{};  // frees the other blocks of destroyed memtables
  MemtableGaugeWatcher* watcher = nullptr;

  // Of destroyed memtables: not freed yet, or kept for the next ones.
  size_t released_bytes() const { return release.bytes() + blocks.idle_bytes(); }
  // Of memtables that exist, and of destroyed ones.
  size_t held_bytes() const { return all_bytes() + released_bytes(); }
  // The part of these that free_some() can return to the system.
  size_t freeable_bytes() const { return release.bytes() + blocks.free_bytes(); }
  // A block, or a chunk of 2 MiB, in some 100 us. REQUIRES: freeable_bytes() > 0.
  void free_some() {
    if (release.empty()) {
      blocks.trim();
    } else {
      release.step();
    }
  }
  void changed() const {
    if (watcher != nullptr) watcher->memtables_changed();
  }
};

// A memtable and the position of its commits in the log.
struct TabletMemtable final : ShardCounted<TabletMemtable> {
  // `indexes`: those whose entries it keeps; null: none.
  TabletMemtable(MemtableGauge& to, LogPosition begin, IndexSetRef indexes = nullptr)
      : gauge(to), entries(std::move(indexes), &to.blocks), log_begin(begin) {}
  ~TabletMemtable() {
    if (flushed) {
      gauge.pinned_bytes -= counted;
    } else {
      gauge.bytes -= counted;
      if (entries.frozen()) gauge.frozen_bytes -= counted;
    }
    gauge.release.take(entries.release());
    gauge.changed();
  }

  void freeze() {
    entries.freeze();
    gauge.frozen_bytes += counted;
  }

  // Its entries are in tables now. REQUIRES: frozen.
  void end() {
    flushed = true;
    gauge.bytes -= counted;
    gauge.frozen_bytes -= counted;
    gauge.pinned_bytes += counted;
  }

  // Updates the gauge; call after every change. Most changes fit into the arena's last block.
  void count() {
    const size_t now = entries.bytes();
    if (now == counted) return;
    const size_t more = now - counted;  // modulo 2^64
    if (flushed) {
      gauge.pinned_bytes += more;
    } else {
      gauge.bytes += more;
      if (entries.frozen()) gauge.frozen_bytes += more;
    }
    counted = now;
    gauge.changed();
  }

  // See Memtable.
  bool make_index_entries(uint64_t cells, size_t& most) {
    const bool all = entries.make_index_entries(cells, most);
    count();
    return all;
  }

  MemtableGauge& gauge;
  size_t counted = 0;
  bool flushed = false;
  Memtable entries;
  LogPosition log_begin;  // in the open log: its commits are after this
  LogPosition log_end;    // and not after this; set when frozen
};

// Tables that do not overlap, sorted by row.
struct TabletRun {
  uint64_t number = 0;  // a greater number holds newer commits
  std::vector<Ref<TabletTable>> tables;
};

// Replaced versions that cursors still read. Owned by one shard; must outlive them.
using OldVersions = absl::flat_hash_set<const Version*>;

struct Version final : ShardCounted<Version> {
  ~Version() {
    if (among != nullptr) among->erase(this);
  }
  // Another version has replaced it; its holders continue to read it.
  void retire(OldVersions& versions) {
    among = &versions;
    versions.insert(this);
  }
  std::vector<Ref<TabletMemtable>> memtables;  // newest first
  std::vector<TabletRun> runs;                 // newest first
  // of both, except those that reads skip (UnreadTables); built once, for all cursors
  ReadSources sources;
  std::vector<const TabletTable*> unread;  // left out of `sources`
  OldVersions* among = nullptr;
};

// Groups tables by run number, newest run first, each sorted by row.
std::vector<TabletRun> make_runs(std::vector<Ref<TabletTable>> tables);

// The least TableMeta::watermark() of its tables; kMaxStamp: the version has no cells.
CommitStamp gc_watermark_of(const Version& version);

// The sources of a version, newest first, without `unread`. The version must outlive them.
ReadSources read_sources(const Version& version, const std::vector<const TabletTable*>& unread);

// The tables of a version that reads skip although they are still on disk: those that are wholly
// dead by their bounds and mask nothing (retention/dead_table.h). Tables with unknown bounds are
// always read.
//
// Computed when a version is published, and again when the next table has died. Later writes do not
// change the result, because dead cells do not count as versions of anything written later.
struct UnreadTables {
  std::vector<const TabletTable*> tables;
  int64_t next_us = INT64_MAX;  // when there may be another one
};

// For reads at `now_us` or later, by the rules of those reads.
UnreadTables unread_tables(const Version& version, const TableRetention& retention, int64_t now_us);

}  // namespace cellar::engine
