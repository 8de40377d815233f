// The work that completes a tablet's indexes on disk (SEMANTICS 11.6). Whatever writes a table
// writes the entries of its cells for the indexes of the schema, so building means rewriting the
// tables that are older than an index. Nothing but the tables records how far that is
// (tablet/index_readiness.h): a restart resumes the build. Memtables older than an index are
// frozen (Tablet::alter) and flushed soon.
//
// A table whose sections were found damaged is rewritten too; its cells are whole.
//
// A merge may have left out entries that were past the index's own age; if that was raised since,
// the table does not have the index any more, until it is rewritten too.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/tablet/tablet.h"
#include "io/loop/async.h"

namespace cellar::engine {

// The tables of a tablet that are still to be rewritten. Damaged ones are not: the tablet's indexes
// are not ready as long as it has them.
struct IndexWork {
  std::optional<BlobId> missing;  // the first without the entries of an index, or with damaged ones
  size_t missing_tables = 0;
  std::optional<BlobId> extra;  // the first with entries of a dropped index, and complete
  size_t extra_tables = 0;
};
IndexWork index_work_of(const Tablet& tablet, int64_t now_us);

enum class IndexNext : uint8_t {
  nothing,  // until the tables or the schema of the tablet change
  missing,  // an index is not complete
  extra,    // a dropped index takes up space
};
// Rewrites one table that lacks an index. If there is none and `extras`, one with a dropped index.
// Returns what is left. REQUIRES: the caller is inside tablet.gate().
Async<Result<IndexNext>> build_indexes(Tablet& tablet, bool extras);

}  // namespace cellar::engine
