// MapWait: who waits for the shard's table map to change. A write whose tablet is held for a
// reshape, and a read whose tablet is gone, cannot go on before the next map is there.
#pragma once

#include <cstdint>

#include <boost/intrusive/list.hpp>

#include "io/loop/timers.h"

namespace cellar::server {

using MapWaitHook =
    boost::intrusive::list_base_hook<boost::intrusive::tag<struct MapWaitTag>,
                                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

// Leaves by itself when it is destroyed.
class MapWaiter : public MapWaitHook {
 public:
  // The map was replaced, or the time is over: look which. Waits no more. Runs in a turn of its
  // own, never inside a request.
  virtual void map_wait_over() = 0;

 protected:
  ~MapWaiter() = default;

 private:
  friend class MapWaiters;
  int64_t until_us_ = 0;
};

// Of one shard.
class MapWaiters {
 public:
  // Nobody waits longer than this, whatever deadline its request has or has not. A reshape holds
  // writes for less (engine/node.h); so what waits this long waits for a map that does not come.
  static constexpr int64_t kMaxWaitUs = 30'000'000;

  explicit MapWaiters(Timers& timers);

  // One call of map_wait_over(), at the next map or at `until_us` of the timers, unless stop().
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
  Timer timer_;  // at the least until_us_
  List waiting_;
};

}  // namespace cellar::server
