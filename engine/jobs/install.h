// Installation: how tables just written become part of a tablet: they are opened, then one manifest
// edit names them and un-names what they replace, then the caller publishes. The edit lock of the
// tablet is held from begin() until the installation is gone, so the caller sees one state from
// planning to publishing.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/tablet/tablet.h"

namespace cellar::engine {

class Installation {
 public:
  // Opens the sealed blobs. On an error they are removed. ABORTED when the tablet was dropped.
  static Async<Result<Installation>> begin(Tablet& tablet, std::vector<TableMeta> outputs);
  Installation(Installation&&) = default;
  Installation& operator=(Installation&&) = default;
  // Condemns what was not installed.
  ~Installation();

  // The edit: `state`, the new tables in, `inputs` out. Answers the manifest version. After an edit
  // of which nobody knows whether it went through, the blobs stay and the shard is stopped.
  Async<Result<uint64_t>> commit(TabletState state, std::vector<Ref<TabletTable>> inputs);
  const std::vector<Ref<TabletTable>>& tables() const { return tables_; }

 private:
  explicit Installation(Tablet& tablet) : tablet_(&tablet) {}

  Tablet* tablet_;
  std::vector<Ref<TabletTable>> tables_;
  bool keep_ = false;
  AsyncMutex::Lock lock_;
};

}  // namespace cellar::engine
