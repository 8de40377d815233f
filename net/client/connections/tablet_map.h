// TabletMap: where the rows of one table live, as far as this client knows. Filled from a
// TableDescription, corrected by the hints of a node that refused a stale tablet or epoch.
#pragma once

#include <cstdint>
#include <vector>

#include "io/base/bytes.h"
#include "net/client/api/admin.h"
#include "net/wire/status.h"

namespace cellar::client {

class TabletMap {
 public:
  struct Place {
    uint32_t shard = 0;
    uint64_t tablet_id = 0;  // 0: not sure any more; the node finds it
    uint64_t epoch = 0;
  };

  // Takes the place of what was known.
  void assign(std::vector<TabletDescription> tablets) { tablets_ = std::move(tablets); }
  void clear() { tablets_.clear(); }
  bool known() const { return !tablets_.empty(); }
  size_t size() const { return tablets_.size(); }

  // REQUIRES: known().
  Place locate(Bytes row) const;
  // The node says that `row` lives there. A tablet that is known moves; the place of one that is
  // not (it was split off) is unsure from now on, and answers true: the map should be fetched
  // again.
  bool correct(Bytes row, const wire::TabletHint& hint);

 private:
  size_t index_of(Bytes row) const;

  std::vector<TabletDescription> tablets_;  // by start
};

}  // namespace cellar::client
