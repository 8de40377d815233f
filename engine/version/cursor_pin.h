// CursorPin: what a cursor over a tablet keeps from going away: the version that it reads and, with
// it, memory and blobs. A memtable that is flushed lives as long as a cursor reads a version with
// it. Such memtables are counted apart (MemtableGauge::pinned_bytes), and bounded: a cursor that
// resumes between two rows continues on the newest version, and above the bound the oldest cursors
// release their versions (OpenCursors::shed), those inside a row too.
// How long a stream may stand inside a row is the server's to bound.
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

  // Who watches is shown the dead too: also those in tables that other reads leave out.
  const ReadSources& all_sources() { return all_ = read_sources(*version_, {}); }
  bool is_stale() const override;
  const ReadSources& renew() override;
  void drop() override { version_ = nullptr; }
  bool holds_flushed() const;

 private:
  friend class OpenCursors;
  Ref<const Version> version_;
  const Ref<const TabletFacts> facts_;
  const Ref<const SchemaSnapshot> schema_;
  ReadSources all_;
  ScanCursor* cursor_ = nullptr;  // null: it is not to be disturbed
};

// The cursors of a shard that clients keep, oldest first.
class OpenCursors {
 public:
  // The pin is the cursor's and goes with it.
  void add(CursorPin& pin, ScanCursor& cursor) {
    pin.cursor_ = &cursor;
    pins_.push_back(pin);
  }
  // Until flushed memtables that cursors hold take no more than that, as far as cursors do not wait
  // for blocks.
  void shed(const MemtableGauge& gauge, size_t most_bytes);

 private:
  boost::intrusive::list<CursorPin, boost::intrusive::base_hook<AutoUnlink>,
                         boost::intrusive::constant_time_size<false>>
      pins_;
};

}  // namespace cellar::engine
