// StaleNews: tells the connections of a shard which of their handles name a tablet or an epoch that
// the table map no longer has, so that a client fetches the map before a request of it is ABORTED.
//
// A new map makes every listener due. In each turn due listeners look through their handles, about
// kHandlesPerTurn in all; a newer map begins again. A handle is told once for each change, so a
// connection gets at most wire::kMaxHandles frames for one change.
//
// One shard.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include <boost/intrusive/list.hpp>

#include "engine/catalog/table_map.h"

namespace cellar::server {

// Where the tablets of the map of one round are. A table's are gathered when it is asked for first.
class TabletPlaces {
 public:
  struct Place {
    uint64_t epoch = 0;  // 0: there is no such tablet
    uint32_t shard = 0;
  };

  explicit TabletPlaces(const engine::TableMap& tables) : tables_(tables) {}

  const engine::TableMap& tables() const { return tables_; }
  Place find(uint64_t table_id, uint64_t tablet_id);

 private:
  using Places = absl::flat_hash_map<uint64_t, Place>;  // by tablet
  const engine::TableMap& tables_;
  absl::flat_hash_map<uint64_t, Places> of_;  // by table
};

using StaleHook =
    boost::intrusive::list_base_hook<boost::intrusive::tag<struct StaleTag>,
                                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

// Unlinks itself on destruction.
class StaleListener : public StaleHook {
 public:
  // Tells what is stale. The number of handles looked at.
  virtual size_t tell_stale(TabletPlaces& current) = 0;

 protected:
  ~StaleListener() = default;
};

class StaleNews {
 public:
  static constexpr size_t kHandlesPerTurn = 1024;

  void join(StaleListener& listener) { told_.push_back(listener); }
  void map_changed() {
    due_.splice(due_.end(), told_);
    round_.reset();
  }
  bool due() const { return !due_.empty(); }
  // A turn's share. `tables` is the map since the last map_changed().
  void turn(const engine::TableMap& tables);

 private:
  using List = boost::intrusive::list<StaleListener, boost::intrusive::base_hook<StaleHook>,
                                      boost::intrusive::constant_time_size<false>>;
  List due_;
  List told_;
  std::optional<TabletPlaces> round_;  // while listeners are due
};

}  // namespace cellar::server
