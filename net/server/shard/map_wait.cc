#include "net/server/shard/map_wait.h"

#include <algorithm>

namespace cellar::server {

MapWaiters::MapWaiters(Timers& timers)
    : timers_(timers),
      timer_(timers, [](void* self) { static_cast<MapWaiters*>(self)->wake_late(); }, this) {}

void MapWaiters::wait(MapWaiter& waiter, int64_t until_us) {
  waiter.until_us_ = until_us;
  stop(waiter);
  waiting_.push_back(waiter);
  arm();
}

void MapWaiters::wake_all() {
  List woken;
  woken.swap(waiting_);
  timer_.cancel();
  while (!woken.empty()) {
    MapWaiter& waiter = woken.front();
    woken.pop_front();
    waiter.map_wait_over();
  }
}

void MapWaiters::wake_late() {
  const int64_t now_us = timers_.now_us();
  List late;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    MapWaiter& waiter = *it++;
    if (waiter.until_us_ > now_us) continue;
    stop(waiter);
    late.push_back(waiter);
  }
  while (!late.empty()) {
    MapWaiter& waiter = late.front();
    late.pop_front();
    waiter.map_wait_over();
  }
  arm();
}

void MapWaiters::arm() {
  if (waiting_.empty()) return timer_.cancel();
  const auto first = std::min_element(
      waiting_.begin(), waiting_.end(),
      [](const MapWaiter& a, const MapWaiter& b) { return a.until_us_ < b.until_us_; });
  timer_.arm_after_us(std::max<int64_t>(first->until_us_ - timers_.now_us(), 0));
}

}  // namespace cellar::server
