// Event, Notify and AsyncMutex: waiting for one another inside one loop. None allocates; a waiting
// coroutine's place in the queue lives in its frame.
#pragma once

#include <utility>

#include "io/base/check.h"
#include "io/loop/waiter.h"

namespace cellar {

// Coroutines that wait in order of arrival.
class WaitQueue {
 public:
  // Parks the caller at the end of the queue.
  Async<void> wait();
  bool wake_one();
  void wake_all();
  bool empty() const { return waiting_.empty(); }

 private:
  struct Entry : AutoUnlink {
    Waiter waiter;
  };
  boost::intrusive::list<Entry, boost::intrusive::constant_time_size<false>> waiting_;
};

// A latch: once set, every wait() returns at once until reset().
class Event {
 public:
  void set();
  void reset() { set_ = false; }
  bool is_set() const { return set_; }
  Async<void> wait();

 private:
  WaitQueue queue_;
  bool set_ = false;
};

// Wakes only those who wait at that moment; remembers nothing. Wait in a loop around the condition.
class Notify {
 public:
  bool notify_one() { return queue_.wake_one(); }
  void notify_all() { queue_.wake_all(); }
  Async<void> wait() { return queue_.wait(); }
  bool has_waiters() const { return !queue_.empty(); }

 private:
  WaitQueue queue_;
};

// First come, first served; held across co_await.
class AsyncMutex {
 public:
  class Lock {
   public:
    Lock() = default;
    explicit Lock(AsyncMutex& mutex) : mutex_(&mutex) {}
    Lock(Lock&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
    Lock& operator=(Lock&& other) noexcept {
      std::swap(mutex_, other.mutex_);
      return *this;
    }
    ~Lock() {
      if (mutex_) mutex_->unlock();
    }

   private:
    AsyncMutex* mutex_ = nullptr;
  };

  ~AsyncMutex() { CHECK(queue_.empty(), "an AsyncMutex was destroyed while someone waits for it"); }
  Async<Lock> lock();
  bool locked() const { return locked_; }

 private:
  void unlock();  // hands over to the first who waits

  WaitQueue queue_;
  bool locked_ = false;
};

}  // namespace cellar
