// Reads one tablet to its end through a cursor.
#pragma once

#include "engine/read/scan.h"
#include "io/base/check.h"
#include "tests/support/test_node.h"

namespace cellar::support {

// The number of cells that a read of the tablet returns; each is visited, none is kept.
inline uint64_t count_cells(TestNode& node, const engine::TabletDescriptor& tablet,
                            const ReadSpec& spec) {
  struct Count final : CellSink {
    uint64_t cells = 0;
    Flow cell(const CellView&) override { return ++cells, Flow::more; }
    Flow end_row(Bytes) override { return Flow::more; }
  };
  auto cursor = node.node().engine(tablet.shard).open_scan(tablet.id, tablet.epoch, spec);
  CHECK(cursor.has_value());
  Count count;
  while (true) {
    const engine::ScanStep step = (*cursor)->run(count);
    if (step == engine::ScanStep::done) return count.cells;
    CHECK(step != engine::ScanStep::failed, "{}", (*cursor)->error().to_string());
    if (step == engine::ScanStep::blocked) {
      node.world().block_on(node.loop(tablet.shard.value()), (*cursor)->load());
    }
  }
}

}  // namespace cellar::support
