// IndexScan: a read through an index over one tablet.
//
//   IndexBatch batch;
//   do {
//     batch.clear();
//     CO_TRY_VOID(co_await cursor.next(batch, {.hits = 100, .bytes = 256 << 10}));
//     ... batch.hits, in the order of the index
//   } while (!batch.done);
//
// The tablet is read as of one stamp and one time, taken when the cursor is opened. Where the bound
// on pinned memory ends that stamp, or the table was altered, the cursor continues behind its
// position as of a new one.
//
// One shard. Must outlive a pending next().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/model/index_read_spec.h"
#include "engine/model/read_spec.h"
#include "io/base/result.h"
#include "io/loop/async.h"

namespace cellar::engine {

// A cell of a hit; owns its bytes.
struct HitCell {
  std::string family;
  std::string qualifier;
  int64_t timestamp_us = 0;
  std::string value;
  std::string label;  // of the filter; empty: none
  CellNote note;      // with IndexReadSpec::explain
};

struct IndexHit {
  // Its place in the order of the index, which is the order of these bytes over all tablets of the
  // table; a read resumes behind it.
  std::string position;
  std::string row;
  // The indexed cell and its covered ones, by column; or the whole row after the filter.
  std::vector<HitCell> cells;

  size_t bytes() const {
    size_t sum = sizeof *this + position.size() + row.size();
    for (const HitCell& cell : cells)
      sum += sizeof cell + cell.family.size() + cell.qualifier.size() + cell.value.size();
    return sum;
  }
};

struct IndexBatch {
  std::vector<IndexHit> hits;
  // No hit of the tablet up to here is left, whether or not there were any; empty: none known.
  std::string passed;
  bool done = false;  // the tablet has no more
  void clear() {
    hits.clear();
    passed.clear();
    done = false;
  }
};

struct IndexBatchLimits {
  size_t hits = 256;
  size_t bytes = 256 * 1024;
  // End a batch that examines many candidates without a hit.
  size_t candidates = 4096;
  int64_t work_us = 20'000;  // from its beginning
};

class IndexScan {
 public:
  virtual ~IndexScan() = default;
  // Appends to `batch`; ends at a limit. A batch that spent its time on preparing what was written
  // has no hit and passed nothing.
  // ABORTED: the tablet is gone or was altered; open another cursor by the next table map, behind
  // the last position. FAILED_PRECONDITION: the index is not ready any more.
  virtual Async<Result<void>> next(IndexBatch& batch, IndexBatchLimits limits) = 0;
};

}  // namespace cellar::engine
