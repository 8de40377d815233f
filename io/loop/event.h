// Event, ConditionVariable and AsyncMutex: synchronisation of coroutines on one loop. They do not
// allocate; a waiter's queue entry lives in its coroutine frame.
#pragma once

#include <utility>

#include "io/base/check.h"
#include "io/loop/waiter.h"

namespace cellar {

// A FIFO queue of waiting coroutines.
class WaitQueue {
 public:
  // Suspends the caller at the end of the queue.
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

// Wakes the coroutines waiting at that moment and keeps no state. Wait in a loop that tests the
// condition.
class ConditionVariable {
 public:
  bool notify_one() { return queue_.wake_one(); }
  void notify_all() { queue_.wake_all(); }
  Async<void> wait() { return queue_.wait(); }
  bool has_waiters() const { return !queue_.empty(); }

 private:
  WaitQueue queue_;
};

// A FIFO mutex that may be held across co_await.
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
  void unlock();  // passes the mutex to the first waiter

  WaitQueue queue_;
  bool locked_ = false;
};

}  // namespace cellar
