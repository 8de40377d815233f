// MemtableBudget: the memory of a shard's memtables: what they take, the bounds, and what a lack of
// it has led to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>

#include "engine/version/version.h"
#include "io/base/result.h"

namespace cellar::engine {

struct MemtableBudget {
  size_t hard_bytes = 0;  // bound of all memtables, including those held by cursors
  MemtableGauge gauge{};
  size_t refused_bytes = 0;              // size of the last write that was refused for memory
  std::optional<Error> flush_failure{};  // why the last flush failed; nullopt: it succeeded

  // Bound of flushed memtables held by cursors; part of the hard bound.
  size_t pinned_bound() const { return hard_bytes / 2; }
  // The part of the hard bound left for memtables that are not flushed. Above it writes are
  // refused; from three quarters of it the largest memtable is flushed.
  size_t room() const { return hard_bytes - std::min(gauge.pinned_bytes, pinned_bound()); }
  bool is_nearly_full() const { return gauge.bytes > room() / 4 * 3; }
};

}  // namespace cellar::engine
