// Whether the memtables and tables of a tablet have the entries of an index.
#pragma once

#include <cstdint>

#include "engine/index_state.h"
#include "engine/version/version.h"

namespace cellar::engine {

// The table has every entry that a read at `now_us` must find: it has a section, and what was left
// out of it is past the index's present own age.
bool has_entries(const TableMeta& table, const IndexSchema& index, int64_t now_us);

IndexState index_state_of(const Version& version, const IndexSchema& index, int64_t now_us);

}  // namespace cellar::engine
