#include "net/server/shard/stale_news.h"

namespace cellar::server {

TabletPlaces::Place TabletPlaces::find(uint64_t table_id, uint64_t tablet_id) {
  const auto [at, added] = of_.try_emplace(table_id);
  if (added) {
    if (const engine::TableEntry* table = tables_.find(TableId{table_id})) {
      for (const engine::TabletDescriptor& tablet : table->tablets) {
        at->second[tablet.id.value()] = {tablet.epoch.value(), tablet.shard.value()};
      }
    }
  }
  const auto tablet = at->second.find(tablet_id);
  return tablet == at->second.end() ? Place() : tablet->second;
}

void StaleNews::turn(const engine::TableMap& tables) {
  if (!round_) round_.emplace(tables);
  size_t looked = 0;
  while (!due_.empty() && looked < kHandlesPerTurn) {
    StaleListener& listener = due_.front();
    due_.pop_front();
    told_.push_back(listener);
    looked += 1 + listener.tell_stale(*round_);
  }
  if (due_.empty()) round_.reset();
}

}  // namespace cellar::server
