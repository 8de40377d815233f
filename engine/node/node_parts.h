// NodeParts: the components of an open node, each with its own state, in the order in which they
// use each other; Node forwards its calls to them, Recovery starts them.
//
// Locks are taken in this order: Backups, the turn of reshapes, NodeCatalog.
#pragma once

#include <optional>
#include <vector>

#include "engine/files/obsolete_blobs.h"
#include "engine/files/old_logs.h"
#include "engine/files/settled_manifest.h"
#include "engine/node.h"
#include "engine/node/alter_table.h"
#include "engine/node/backups.h"
#include "engine/node/blob_sessions.h"
#include "engine/node/cache_loans.h"
#include "engine/node/create_table.h"
#include "engine/node/drop_table.h"
#include "engine/node/index_checks.h"
#include "engine/node/node_catalog.h"
#include "engine/node/node_clocks.h"
#include "engine/node/node_shards.h"
#include "engine/node/preview_rule.h"
#include "engine/node/reshape.h"
#include "engine/node/tablet_calls.h"

namespace cellar::engine {

// The files that belong to no single shard. On shard 0; outlives the parts of the shards.
struct NodeFiles {
  NodeFiles(const ShardEnv& home, const ManifestStore& manifest)
      : old_logs(home.runtime, home.logs),
        deleter(home.runtime, home.blobs),
        shared_blobs(deleter, manifest.has_all_tablets()) {}
  OldLogs old_logs;
  ObsoleteBlobDeleter deleter;  // for blobs shared by several shards
  BlobRefCounts shared_blobs;
};

struct NodeParts {
  // `read_only`: why nothing may be written; see Node::open_read_only().
  NodeParts(EngineOptions options, std::vector<ShardEnv> envs, ManifestStore& manifest,
            Mailboxes& mailboxes, std::optional<Error> read_only);
  ~NodeParts();

  // See Node::close().
  Async<Result<void>> close();
  // Cleans up after a failed start, on each shard.
  Async<void> discard(const Error& why);

  const EngineOptions options;
  const std::optional<Error> read_only;
  SettledManifest manifest;
  NodeFiles files;
  NodeShards shards;
  NodeClocks clocks;
  NodeCatalog catalog;
  BlobSessions sessions;
  CacheLoans loans;
  AsyncMutex reshape_turn;  // one reshape at a time
  TableCreations creations;
  TableAlterations alterations;
  DroppedTables drops;
  Reshape reshape;
  TabletCalls calls;
  RulePreviews previews;
  IndexChecks index_checks;
  Backups backups;
  RecoveryReport recovery;

 private:
  // No component starts work by itself any more.
  Async<void> stop();
};

}  // namespace cellar::engine
