// MapWait: waiters for a new table map of the shard: writes whose tablet is held for a reshape, and
// reads whose tablet is gone or held for a change of rules.
#pragma once

#include <cstdint>

#include <boost/intrusive/list.hpp>

#include "io/loop/timers.h"

namespace cellar::server {

using MapWaitHook =
    boost::intrusive::list_base_hook<boost::intrusive::tag<struct MapWaitTag>,
                                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

// Unlinks itself on destruction.
class MapWaiter : public MapWaitHook {
 public:
  // Called when the map was replaced or the time has expired; the waiter checks which. It no longer
  // waits. Runs in a turn of its own, never inside a request.
  virtual void map_wait_over() = 0;

 protected:
  ~MapWaiter() = default;

 private:
  friend class MapWaiters;
  int64_t until_us_ = 0;
};

// The waiters of one shard.
class MapWaiters {
 public:
  // Upper bound of a wait, whatever the request's deadline. A reshape holds writes for less
  // (engine/node.h), so a longer wait is for a map that will not come.
  static constexpr int64_t kMaxWaitUs = 30'000'000;

  explicit MapWaiters(Timers& timers);

  // Calls map_wait_over() once, at the next map or at `until_us` of the timers, unless stop() comes
  // first.
  void wait(MapWaiter& waiter, int64_t until_us);
  static void stop(MapWaiter& waiter) {
    if (waiter.MapWaitHook::is_linked()) waiter.MapWaitHook::unlink();
  }
  void wake_all();

 private:
  using List = boost::intrusive::list<MapWaiter, boost::intrusive::base_hook<MapWaitHook>,
                                      boost::intrusive::constant_time_size<false>>;
  void wake_late();
  void arm();

  Timers& timers_;
  Timer timer_;  // armed for the least until_us_
  List waiting_;
};

}  // namespace cellar::server
