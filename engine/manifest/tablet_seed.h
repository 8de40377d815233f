// TabletSeed: what a shard needs to open a tablet: its manifest entry, decoded, and its schema. A
// value that travels from shard 0, which reads the manifest, to the tablet's shard.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/manifest/states.h"
#include "engine/manifest/table_item.h"
#include "engine/model/schema.h"

namespace cellar::engine {

struct TabletSeed {
  TabletId id;
  TabletState state;
  uint64_t version = kAbsent;  // of the manifest entry
  std::vector<TableItem> tables;
  TableSchema schema;
};

}  // namespace cellar::engine
