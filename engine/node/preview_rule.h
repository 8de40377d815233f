// RulePreviews: what another rule of a family would hide or kill (engine/preview_rule.h). A preview
// runs on the calling shard and reads each tablet on the tablet's; nothing is changed.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/node/alter_table.h"
#include "engine/node/node_catalog.h"
#include "engine/node/node_shards.h"
#include "engine/preview_rule.h"
#include "engine/shard/preview_estimate.h"

namespace cellar::engine {

class TabletPreview;

// A previewed change.
struct PreviewPlan {
  TableId table;
  uint64_t version = 0;  // of the schema before the change
  TableSchema after;     // valid if `changes`
  bool changes = false;  // the rule differs
  int64_t undo_window_us = 0;
};

class RulePreviews {
 public:
  RulePreviews(NodeShards& shards, NodeCatalog& catalog, ClockKeeper& clock,
               TableAlterations& alterations)
      : shards_(shards), catalog_(catalog), clock_(clock), alterations_(alterations) {}

  // See Node::preview_rule.
  Async<Result<PreviewReport>> run(ShardId from, PreviewRequest request, PreviewListener& listener);

 private:
  // On shard 0.
  Async<Result<PreviewPlan>> plan_here(const PreviewRequest& request);
  Async<std::vector<TabletContents>> table_contents(ShardId from, TableId table);
  Async<Result<void>> preview_tablets(ShardId from, const PreviewPlan& plan,
                                      const PreviewRequest& request, PreviewListener& listener,
                                      PreviewProgress& progress, PreviewReport& report);
  Async<Result<void>> preview_tablet(ShardId from, TabletPreview& preview,
                                     PreviewListener& listener, PreviewProgress& progress);

  NodeShards& shards_;
  NodeCatalog& catalog_;           // on shard 0
  ClockKeeper& clock_;             // on shard 0
  TableAlterations& alterations_;  // on shard 0
};

}  // namespace cellar::engine
