// TableCreations: adds tables to the node: empty ones, and those of a backup with their tables on
// disk. On shard 0.
#pragma once

#include <string>
#include <vector>

#include "engine/node/clock_keeper.h"
#include "engine/node/node_catalog.h"
#include "engine/node/node_shards.h"

namespace cellar::engine {

class TableCreations {
 public:
  // `reshape_turn`: held by a reshape in progress, taken before the catalog's lock.
  TableCreations(NodeShards& shards, NodeCatalog& catalog, ClockKeeper& clock,
                 AsyncMutex& reshape_turn)
      : shards_(shards), catalog_(catalog), clock_(clock), reshape_turn_(reshape_turn) {}

  // See Node::create_table.
  Async<Result<TableEntry>> create(TableSpec spec, Author by);
  // Serves `tablets`, whose tables on disk no tablet names yet, as those of a new table.
  // `detail`: of its audit entry.
  Async<Result<TableEntry>> adopt(TableSchema schema, std::vector<TabletSeed> tablets,
                                  AuditDetail detail, Author by);

 private:
  Async<Result<TableEntry>> install_adopted(Catalog::Creation plan, std::vector<AuditEntry> entries,
                                            Author by);

  NodeShards& shards_;
  NodeCatalog& catalog_;
  ClockKeeper& clock_;
  AsyncMutex& reshape_turn_;
};

}  // namespace cellar::engine
