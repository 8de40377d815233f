#include "io/loop/event.h"

namespace cellar {

Async<void> WaitQueue::wait() {
  Entry entry;
  waiting_.push_back(entry);
  co_await entry.waiter.wait();
}

bool WaitQueue::wake_one() {
  if (waiting_.empty()) return false;
  Entry& entry = waiting_.front();
  waiting_.pop_front();
  entry.waiter.resume();
  return true;
}

void WaitQueue::wake_all() {
  while (wake_one()) {
  }
}

void Event::set() {
  set_ = true;
  queue_.wake_all();
}

Async<void> Event::wait() {
  if (!set_) co_await queue_.wait();
}

Async<AsyncMutex::Lock> AsyncMutex::lock() {
  if (locked_) {
    co_await queue_.wait();  // unlock() passes the mutex on locked
  } else {
    locked_ = true;
  }
  co_return Lock(*this);
}

void AsyncMutex::unlock() {
  if (!queue_.wake_one()) locked_ = false;
}

}  // namespace cellar
