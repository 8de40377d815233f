// StaleNews: tells the connections of a shard which of their handles name a tablet or an epoch that
// the table map no longer has, so that a client fetches the map before a request of it is ABORTED.
//
// A new map makes every listener due. In each turn due listeners look through their handles, about
// kHandlesPerTurn in all; a newer map begins again. A handle is told once for each binding, so a
// connection gets at most wire::kMaxHandles frames for the binds that it sent.
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

// The tablets of the map of one round. A table's are gathered when it is asked for first.
class TabletEpochs {
 public:
  explicit TabletEpochs(const engine::TableMap& tables) : tables_(tables) {}

  const engine::TableMap& tables() const { return tables_; }
  // Whether the table has that tablet, at that epoch; 0: at any.
  bool has(uint64_t table_id, uint64_t tablet_id, uint64_t epoch);

 private:
  using Epochs = absl::flat_hash_map<uint64_t, uint64_t>;  // by tablet
  const engine::TableMap& tables_;
  absl::flat_hash_map<uint64_t, Epochs> of_;  // by table
};

using StaleHook =
    boost::intrusive::list_base_hook<boost::intrusive::tag<struct StaleTag>,
                                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

// Unlinks itself on destruction.
class StaleListener : public StaleHook {
 public:
  // Tells what is stale. The number of handles looked at.
  virtual size_t tell_stale(TabletEpochs& current) = 0;

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
  std::optional<TabletEpochs> round_;  // while listeners are due
};

}  // namespace cellar::server
