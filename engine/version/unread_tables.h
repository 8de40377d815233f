// Which tables of a version reads leave out though they still lie on disk: those that are wholly
// dead by their bounds and mask nothing (retention/dead_table.h). Bounds that are not known say
// never.
//
// Asked when a version is published, and again when the next table has died; a write that comes
// later changes nothing, for what is dead already counts against no version written afterwards.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/version/version.h"

namespace cellar::engine {

struct UnreadTables {
  std::vector<const TabletTable*> tables;
  int64_t next_us = INT64_MAX;  // when there may be one more
};

// For reads at `now_us` or later, by the rules that they go by.
UnreadTables unread_tables(const Version& version, const TableRetention& retention, int64_t now_us);

}  // namespace cellar::engine
