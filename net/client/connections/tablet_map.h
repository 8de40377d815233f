// TabletMap: the location of a table's rows as known to this client. Filled from a TableDescription
// and corrected by hints of a node that refused a stale tablet or epoch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/base/bytes.h"
#include "net/client/api/admin.h"
#include "net/wire/status.h"

namespace cellar::client {

// What a node reports of a tablet that is not as this client named it.
struct StaleTablet {
  std::string table;
  uint64_t tablet_id = 0;
  uint64_t epoch = 0;  // now; 0: there is no such tablet any more
  uint32_t shard = 0;
};

class TabletMap {
 public:
  struct Place {
    uint32_t shard = 0;
    uint64_t tablet_id = 0;  // 0: uncertain; the node finds it
    uint64_t epoch = 0;
  };

  // Replaces the map.
  void assign(std::vector<TabletDescription> tablets) { tablets_ = std::move(tablets); }
  void clear() { tablets_.clear(); }
  bool known() const { return !tablets_.empty(); }
  size_t size() const { return tablets_.size(); }

  // REQUIRES: known().
  Place locate(Bytes row) const;
  // The node reports the location of `row`. A known tablet is updated. For an unknown one (it was
  // split off) the location becomes uncertain and the result is true: the map should be fetched
  // again.
  bool correct(Bytes row, const wire::TabletHint& hint);
  // The node reports a tablet. One that is gone makes the location of its rows uncertain. False:
  // that is no news.
  bool learn(const StaleTablet& tablet);

 private:
  size_t index_of(Bytes row) const;

  std::vector<TabletDescription> tablets_;  // sorted by start
};

}  // namespace cellar::client
