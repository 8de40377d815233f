// EntryPreparation: the entries of an index that a read finds in the memtables of a version. A
// memtable makes them when they are asked for (engine/memtable); this asks for those of all cells
// that are there when it begins, in slices, so that it ends however fast writes come.
//
//   EntryPreparation preparation(tablet.pin());
//   while (!preparation.step()) co_await yield_now();
//
// One shard.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstdint>

#include "engine/version/version.h"

namespace cellar::engine {

class EntryPreparation {
 public:
  // Entries of all indexes that a step makes, some 300 us, but at least those of one cell.
  static constexpr size_t kEntriesPerStep = 192;

  explicit EntryPreparation(Ref<const Version> version);
  // True: nothing is left to make.
  bool step();

 private:
  Ref<const Version> version_;
  absl::InlinedVector<uint64_t, 4> cells_;  // that each of its memtables had at the beginning
  size_t next_ = 0;                         // the memtable that is not prepared
};

}  // namespace cellar::engine
