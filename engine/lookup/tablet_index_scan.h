// Reads through an index over one tablet (index_scan.h).
//
// The entries of all memtables and tables of a version are merged. Each is a candidate: its row is
// read as of the scan's stamp, which tells whether the cell lives, is the version that the index
// has, and meets the conditions. So an answer cannot depend on stale entries, of which every
// overwrite and every death leaves one until its table is merged.
//
// Invariants
//   1. Every living cell of the indexed columns has an entry in the memtable or table that has the
//      cell (index_readiness.h). A scan is not opened otherwise.
//   2. Everything of a scan is read from one version at one stamp and one time. When that ends, it
//      continues behind `position_`.
//   3. With whole rows a row is given at its first hit in reading order, which follows from the row
//      alone; so a resumed read gives it neither twice nor late.
//
// Example, index on f:q by value, newest: row r had "a", then "b". Both entries exist. The
// candidate a r finds "b" as the newest version and is dropped; b r is a hit.
#pragma once

#include <memory>

#include "engine/index_scan.h"
#include "engine/tablet/tablet.h"

namespace cellar::engine {

// See Engine::open_index.
Result<std::unique_ptr<IndexScan>> open_index_scan(Tablet& tablet, const IndexReadSpec& spec);

}  // namespace cellar::engine
