// A memtable as a source of reads. The memtable must outlive it (the cursor's pin ensures that).
#pragma once

#include "engine/memtable/memtable.h"
#include "engine/read/source.h"

namespace cellar::engine {

class MemtableSource final : public ReadSource {
 public:
  explicit MemtableSource(const Memtable& memtable) : memtable_(memtable) {}

  // A memtable is never skipped: it may still grow, and reading it is cheap.
  EntryIterator* open(const ReadScope& /*scope*/, IteratorArena& arena) const override {
    return arena.make<Memtable::Iterator>(memtable_.tree());
  }
  SourceBounds bounds() const override {
    const TimeBounds& times = memtable_.time_bounds();
    return {times.known, times.max_timestamp_us, memtable_.max_stamp(),
            times.latest_expiry_us != INT64_MIN, &memtable_.columns()};
  }
  const EntryTree* tree() const override { return &memtable_.tree(); }
  const std::vector<RangeTombstone>& range_deletes() const override {
    return memtable_.range_deletes();
  }

 private:
  const Memtable& memtable_;
};

}  // namespace cellar::engine
