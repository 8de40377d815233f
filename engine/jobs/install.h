// Installation: makes newly written tables part of a tablet: they are opened, one manifest edit
// adds them and removes what they replace, then the caller publishes. The tablet's edit lock is
// held from begin() until the installation is destroyed, so the caller sees one state from planning
// to publishing.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/tablet/tablet.h"

namespace cellar::engine {

class Installation {
 public:
  // Opens the sealed blobs; removes them on an error. ABORTED if the tablet was dropped.
  static Async<Result<Installation>> begin(Tablet& tablet, std::vector<TableMeta> outputs);
  Installation(Installation&&) = default;
  Installation& operator=(Installation&&) = default;
  // Makes tables obsolete that were not installed.
  ~Installation();

  // The edit: sets `state`, adds the new tables, removes `inputs`. Returns the manifest version. If
  // the outcome of the edit is unknown, the blobs stay and the shard is stopped.
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
