// NodeCatalog: the catalog of an open node with its audit trail, and the lock under which both
// change. On shard 0.
//
// Every change of the set of tables runs under the lock, in this order: plan, manifest edit, the
// tablets on their shards, the new map on every shard, the answer.
//
// Invariants
//   1. The catalog and the audit trail change only under the lock. They hold what the manifest has;
//      only the marks of tablets that a reshape holds are not durable.
//   2. A change is in the map of every shard before its answer.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/catalog/audit_trail.h"
#include "engine/catalog/catalog.h"
#include "engine/node/node_shards.h"
#include "engine/store/manifest_store.h"
#include "io/loop/event.h"

namespace cellar::engine {

class NodeCatalog {
 public:
  NodeCatalog(NodeShards& shards, ManifestStore& manifest)
      : shards_(shards), manifest_(manifest), catalog_(shards.count()) {}

  // At a start; takes the audit trail.
  void load(ManifestContents& manifest);
  Async<AsyncMutex::Lock> lock() { return lock_.lock(); }
  Catalog& tables() { return catalog_; }
  const Catalog& tables() const { return catalog_; }
  const TableMap& map() const { return catalog_.map(); }
  AuditPage audit_log(const AuditQuery& query) const { return audit_.read(query); }

  // One edit of the manifest together with its audit entries, which get time and author here.
  // Returns the versions of `changes`. REQUIRES: the lock.
  Async<Result<std::vector<uint64_t>>> commit(std::vector<VersionEdit> changes,
                                              std::vector<AuditEntry> entries = {}, Author by = {});
  // The edit of a split, a merge or a move. REQUIRES: the lock.
  Async<Result<std::vector<uint64_t>>> commit(ReshapeEdit edit) {
    return manifest_.commit(std::move(edit));
  }
  // Installs the map on every shard.
  Async<Result<void>> publish();

 private:
  NodeShards& shards_;
  ManifestStore& manifest_;
  Catalog catalog_;
  AuditTrail audit_;
  AsyncMutex lock_;
};

}  // namespace cellar::engine
