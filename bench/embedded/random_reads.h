// Shared by the drivers of reads: the choice of rows and the sink of their cells.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/embedded/bed.h"
#include "bench/embedded/dataset.h"
#include "engine/model/read_spec.h"
#include "io/base/random.h"

namespace cellar::bench {

// Accepts all cells and keeps none.
struct CountCells final : CellSink {
  uint64_t cells = 0;
  Flow cell(const CellView&) override {
    ++cells;
    return Flow::more;
  }
  Flow end_row(Bytes) override { return Flow::more; }
};

// A row and the range of its shard that contains it.
struct RowPlace {
  const RowRange& range;
  RowKey key;
};

inline RowPlace random_row(const std::vector<RowRange>& ranges, Random& random) {
  const RowRange& range = ranges[random.below(ranges.size())];
  return {range, RowKey(range.first + random.below(range.end - range.first))};
}

// Reads all cells of that row.
inline ReadSpec point_read(const RowKey& key) {
  ReadSpec spec;
  spec.rows.add(KeyRange::single(key.bytes()));
  spec.rows.normalize();
  return spec;
}

}  // namespace cellar::bench
