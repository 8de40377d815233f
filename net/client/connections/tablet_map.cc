#include "net/client/connections/tablet_map.h"

#include <algorithm>

#include "io/base/check.h"

namespace cellar::client {

size_t TabletMap::index_of(Bytes row) const {
  CHECK(known(), "a map is asked before it is there");
  const auto after =
      std::upper_bound(tablets_.begin(), tablets_.end(), row,
                       [](Bytes key, const TabletDescription& t) { return key < t.start; });
  return after == tablets_.begin() ? 0 : static_cast<size_t>(after - tablets_.begin()) - 1;
}

TabletMap::Place TabletMap::locate(Bytes row) const {
  const TabletDescription& tablet = tablets_[index_of(row)];
  return {tablet.shard, tablet.tablet_id, tablet.epoch};
}

bool TabletMap::correct(Bytes row, const wire::TabletHint& hint) {
  TabletDescription& tablet = tablets_[index_of(row)];
  const bool same = tablet.tablet_id == hint.tablet.value();
  tablet.shard = hint.shard;
  if (same && hint.epoch.value() < tablet.epoch) return false;  // older than the known one
  tablet.epoch = same ? hint.epoch.value() : 0;
  if (same) return false;
  tablet.tablet_id = 0;
  return true;
}

bool TabletMap::learn(const StaleTablet& stale) {
  const auto at = std::find_if(
      tablets_.begin(), tablets_.end(),
      [&](const TabletDescription& tablet) { return tablet.tablet_id == stale.tablet_id; });
  const bool gone = stale.epoch == 0;
  if (stale.tablet_id == 0 || at == tablets_.end()) return false;
  if (!gone && stale.epoch <= at->epoch) return false;
  at->epoch = stale.epoch;
  if (gone) {
    at->tablet_id = 0;
  } else {
    at->shard = stale.shard;
  }
  return true;
}

}  // namespace cellar::client
