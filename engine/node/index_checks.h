// IndexChecks: compares an index with its table (engine/index_check.h). A check runs on the calling
// shard and looks at each tablet on the tablet's, in key order, by the table map at that moment.
#pragma once

#include <string>

#include "engine/index_check.h"
#include "engine/node/node_shards.h"

namespace cellar::engine {

struct IndexCheckPlace;

class IndexChecks {
 public:
  explicit IndexChecks(NodeShards& shards) : shards_(shards) {}

  // See Node::check_index.
  Async<Result<IndexCheckReport>> run(ShardId from, std::string table, std::string index,
                                      IndexCheckListener& listener);

 private:
  Async<Result<void>> check_tablet(ShardId from, const TabletDescriptor& tablet,
                                   IndexCheckPlace& place, IndexCheckListener& listener,
                                   IndexCheckReport& report);

  NodeShards& shards_;
};

}  // namespace cellar::engine
