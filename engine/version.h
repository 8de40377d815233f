// Version: what a tablet consists of at one moment: its memtables and its runs of tables. Immutable
// once published; a freeze, a flush and a compaction each publish a new one. A cursor pins the
// version that it reads, and with it the memory and the blobs, for as long as it likes; so a blob
// is removed when it has been condemned (no manifest names it any more) and the last version that
// holds it is gone.
//
// Everything here belongs to one shard, hence plain counters.
//
// Order: newest first. Every commit of an earlier source is newer than every commit of a later one,
// for one row at least; keys carry stamps, so only pruning depends on it.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include "engine/blob_reaper.h"
#include "engine/memtable/memtable.h"
#include "engine/model/schema.h"
#include "engine/read/source.h"
#include "engine/sstable/table_meta.h"
#include "engine/sstable/table_reader.h"
#include "engine/store/log_store.h"

namespace cellar::engine {

template <class T>
using ShardCounted = boost::intrusive_ref_counter<T, boost::thread_unsafe_counter>;
template <class T>
using Ref = boost::intrusive_ptr<T>;

// A schema as it was when someone began to work with it: an alteration installs another snapshot
// and leaves this one alone.
struct SchemaSnapshot final : ShardCounted<SchemaSnapshot> {
  explicit SchemaSnapshot(TableSchema schema) : value(std::move(schema)) {}
  const TableSchema value;
};

// What a cursor needs of a tablet that may be dropped meanwhile.
struct TabletFacts final : ShardCounted<TabletFacts>, VisibleStamp {
  CommitStamp visible;
  CommitStamp visible_stamp() const override { return visible; }
};

// The bytes of all memtables of a shard, those included that only a cursor still holds.
struct MemtableGauge {
  size_t bytes = 0;
};

// A memtable and where its commits lie in the log.
struct TabletMemtable final : ShardCounted<TabletMemtable> {
  TabletMemtable(MemtableGauge& to, LogPosition begin) : gauge(to), log_begin(begin) {}
  ~TabletMemtable() { gauge.bytes -= counted; }

  // After every change: keeps the gauge right.
  void count() {
    const size_t now = entries.bytes();
    gauge.bytes += now - counted;
    counted = now;
  }

  MemtableGauge& gauge;
  size_t counted = 0;
  Memtable entries;
  LogPosition log_begin;  // in the open log: its commits there end after this
  LogPosition log_end;    // set when frozen: and not after this
};

// An open table of a tablet.
class TabletTable final : public ShardCounted<TabletTable> {
 public:
  TabletTable(TableMeta meta, std::unique_ptr<TableReader> reader, BlobReaper& reaper)
      : meta_(std::move(meta)), reader_(std::move(reader)), reaper_(reaper) {}
  ~TabletTable() {
    reader_.reset();
    if (condemned_) reaper_.remove(meta_.blob);
  }

  const TableMeta& meta() const { return meta_; }
  TableReader& reader() const { return *reader_; }
  // No manifest names it any more: the blob goes with the last version that holds it.
  void condemn() { condemned_ = true; }

 private:
  TableMeta meta_;
  std::unique_ptr<TableReader> reader_;
  BlobReaper& reaper_;
  bool condemned_ = false;
};

// Tables that do not overlap, sorted by row.
struct TabletRun {
  uint64_t number = 0;  // a greater number holds newer commits
  std::vector<Ref<TabletTable>> tables;
};

struct Version final : ShardCounted<Version> {
  std::vector<Ref<TabletMemtable>> memtables;  // newest first
  std::vector<TabletRun> runs;                 // newest first
};

// Groups tables by run number, newest run first, each sorted by row.
std::vector<TabletRun> make_runs(std::vector<Ref<TabletTable>> tables);

// What a cursor holds.
struct VersionPin final : ReadPin {
  VersionPin(Ref<const Version> v, Ref<const TabletFacts> f, Ref<const SchemaSnapshot> s)
      : version(std::move(v)), facts(std::move(f)), schema(std::move(s)) {}
  Ref<const Version> version;
  Ref<const TabletFacts> facts;
  Ref<const SchemaSnapshot> schema;
};

// The sources of a version, newest first. The version must outlive them.
std::vector<std::unique_ptr<ReadSource>> read_sources(const Version& version);

}  // namespace cellar::engine
