// Version: what a tablet consists of at one moment: its memtables and its runs of tables. Immutable
// once published; the first write after a freeze, a flush and a compaction each publish a new one,
// which looks at every table of the tablet: 60 to 95 us (median) with 1,200 tables in 16 to 90
// runs. A cursor pins the version that it reads, and with it the memory and the blobs
// (cursor_pin.h); so a blob is removed when it has been condemned (no manifest names it any more)
// and the last version that holds it is gone.
//
// Everything here belongs to one shard, hence plain counters.
//
// Order: newest first. Every commit of an earlier source is newer than every commit of a later one,
// for one row at least; keys carry stamps, so only pruning depends on it.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <memory>
#include <utility>
#include <vector>

#include "engine/guards.h"
#include "engine/memory_release.h"
#include "engine/memtable/memtable.h"
#include "engine/model/schema.h"
#include "engine/read/source.h"
#include "engine/retention/family_retention.h"
#include "engine/store/log_store.h"
#include "engine/tablet_table.h"

namespace cellar::engine {

// A schema as it was when someone began to work with it: an alteration installs another snapshot
// and leaves this one alone.
struct SchemaSnapshot final : ShardCounted<SchemaSnapshot> {
  // What the reader will meet is settled up to there.
  explicit SchemaSnapshot(TableSchema schema, CommitStamp settled = {})
      : value(std::move(schema)), guards(value), retention(value, settled) {}
  const TableSchema value;
  const WriteGuards guards;
  const TableRetention retention;
};

struct Version;

// What a cursor needs of a tablet that may be dropped meanwhile.
struct TabletFacts final : ShardCounted<TabletFacts>, VisibleStamp {
  CommitStamp visible;
  const Version* newest = nullptr;  // null: the tablet is gone
  uint64_t schema_version = 0;
  CommitStamp visible_stamp() const override { return visible; }
};

// The bytes of all memtables of a shard.
struct MemtableGauge {
  size_t bytes = 0;         // of those that hold what is in no table yet
  size_t frozen_bytes = 0;  // of them: of those that wait for their flush
  size_t pinned_bytes = 0;  // of those that are flushed and that cursors still hold
  size_t all_bytes() const { return bytes + pinned_bytes; }
  MemoryRelease release{};  // what is left of those that are gone
};

// A memtable and where its commits lie in the log.
struct TabletMemtable final : ShardCounted<TabletMemtable> {
  TabletMemtable(MemtableGauge& to, LogPosition begin) : gauge(to), log_begin(begin) {}
  ~TabletMemtable() {
    if (flushed) {
      gauge.pinned_bytes -= counted;
    } else {
      gauge.bytes -= counted;
      if (entries.frozen()) gauge.frozen_bytes -= counted;
    }
    gauge.release.take(entries.release());
  }

  void freeze() {
    entries.freeze();
    gauge.frozen_bytes += counted;
  }

  // Its entries are in tables. REQUIRES: frozen.
  void end() {
    flushed = true;
    gauge.bytes -= counted;
    gauge.frozen_bytes -= counted;
    gauge.pinned_bytes += counted;
  }

  // After every change: keeps the gauge right.
  void count() {
    const size_t now = entries.bytes();
    gauge.bytes += now - counted;
    counted = now;
  }

  MemtableGauge& gauge;
  size_t counted = 0;
  bool flushed = false;
  Memtable entries;
  LogPosition log_begin;  // in the open log: its commits there end after this
  LogPosition log_end;    // set when frozen: and not after this
};

// Tables that do not overlap, sorted by row.
struct TabletRun {
  uint64_t number = 0;  // a greater number holds newer commits
  std::vector<Ref<TabletTable>> tables;
};

// Versions that were replaced and that cursors still read. One shard; outlives them.
using OldVersions = absl::flat_hash_set<const Version*>;

struct Version final : ShardCounted<Version> {
  ~Version() {
    if (among != nullptr) among->erase(this);
  }
  // It is not its tablet's version any more; whoever holds it still reads it.
  void retire(OldVersions& versions) {
    among = &versions;
    versions.insert(this);
  }
  std::vector<Ref<TabletMemtable>> memtables;  // newest first
  std::vector<TabletRun> runs;                 // newest first
  ReadSources sources;  // of both, but for unread_tables.h; made once, for all cursors
  OldVersions* among = nullptr;
};

// Groups tables by run number, newest run first, each sorted by row.
std::vector<TabletRun> make_runs(std::vector<Ref<TabletTable>> tables);

// Up to where every cell in the version is settled (TableMeta::settled); kMaxStamp: there is none.
CommitStamp settled_of(const Version& version);

// The sources of a version, newest first, without those tables. The version must outlive them.
ReadSources read_sources(const Version& version, const std::vector<const TabletTable*>& unread);

}  // namespace cellar::engine
