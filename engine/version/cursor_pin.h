// CursorPin: keeps the version that a cursor over a tablet reads, and with it memtables and blobs.
// A flushed memtable lives as long as a cursor reads a version with it. Such memtables are counted
// separately (MemtableGauge::pinned_bytes) and bounded: a cursor that resumes between two rows
// continues on the newest version, and above the bound the oldest cursors release their versions
// (OpenCursors::shed), also within a row. The server bounds how long a stream may pause within a
// row.
#pragma once

#include <boost/intrusive/list.hpp>

#include "engine/read/scan.h"
#include "engine/version/version.h"
#include "io/loop/waiter.h"

namespace cellar::engine {

class CursorPin final : public ReadPin, public AutoUnlink {
 public:
  CursorPin(Ref<const Version> version, Ref<const TabletFacts> facts,
            Ref<const SchemaSnapshot> schema)
      : version_(std::move(version)), facts_(std::move(facts)), schema_(std::move(schema)) {}

  // A watch is shown dead cells too, including those in tables that other reads skip.
  const ReadSources& all_sources() { return all_ = read_sources(*version_, {}); }
  bool is_stale() const override;
  bool must_reopen() const override;
  const ReadSources& renew() override;
  void drop() override { version_ = nullptr; }
  bool holds_flushed() const;

 private:
  friend class OpenCursors;
  Ref<const Version> version_;
  const Ref<const TabletFacts> facts_;
  const Ref<const SchemaSnapshot> schema_;
  ReadSources all_;
  ScanCursor* cursor_ = nullptr;  // null: not in OpenCursors, so it keeps its version
};

// Holds a version other than by a cursor, and can do without at any time.
class VersionHolder : public AutoUnlink {
 public:
  virtual bool holds_flushed() const = 0;
  virtual void let_go() = 0;

 protected:
  ~VersionHolder() = default;
};

// The cursors of a shard that clients keep open, oldest first.
class OpenCursors {
 public:
  // The pin belongs to the cursor and is destroyed with it.
  void add(CursorPin& pin, ScanCursor& cursor) {
    pin.cursor_ = &cursor;
    pins_.push_back(pin);
  }
  void add(VersionHolder& holder) { holders_.push_back(holder); }
  // Releases versions, first those of holders, then of the oldest cursors, until flushed memtables
  // held by cursors take at most `most_bytes`; cursors that wait for blocks are skipped.
  void shed(const MemtableGauge& gauge, size_t most_bytes);

 private:
  boost::intrusive::list<CursorPin, boost::intrusive::base_hook<AutoUnlink>,
                         boost::intrusive::constant_time_size<false>>
      pins_;
  boost::intrusive::list<VersionHolder, boost::intrusive::base_hook<AutoUnlink>,
                         boost::intrusive::constant_time_size<false>>
      holders_;
};

}  // namespace cellar::engine
