#include "io/disk/blocking_pool.h"

#include "io/base/check.h"

namespace cellar {

BlockingPool::BlockingPool(int threads) {
  CHECK(threads >= 1 && threads <= kMaxThreads, "{} threads", threads);
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { serve(); });
}

BlockingPool::~BlockingPool() { stop(); }

void BlockingPool::submit(Job& job) {
  job.next = nullptr;
  {
    const std::lock_guard guard(mutex_);
    CHECK(!stopping_, "a job was submitted to a pool that is stopped");
    (head_ == nullptr ? head_ : tail_->next) = &job;
    tail_ = &job;
  }
  wake_.notify_one();
}

void BlockingPool::stop() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void BlockingPool::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return head_ != nullptr || stopping_; });
    if (head_ == nullptr) return;
    Job& job = *head_;
    head_ = job.next;
    lock.unlock();
    job.run(job);
    lock.lock();
  }
}

}  // namespace cellar
