// BlockingPool: threads for calls that may block (open, rename, fsync of a directory, and every
// read and write without io_uring). Shared by all shards of a process; the only place in io/disk
// where threads meet.
//
// A job is owned by its submitter and must stay in place until run() has posted the result back to
// the loop. Therefore stop() the pool before destroying the loops. Submitters bound the queue: one
// job per waiting coroutine, and PoolEngine::kMaxInFlight per shard.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include "io/loop/async.h"
#include "io/loop/waiter.h"

namespace cellar {

class BlockingPool {
 public:
  static constexpr int kDefaultThreads = 4;
  static constexpr int kMaxThreads = 64;

  struct Job {
    void (*run)(Job& job) = nullptr;  // called on a thread of the pool
    Job* next = nullptr;
  };

  // `threads` is in 1..kMaxThreads.
  explicit BlockingPool(int threads = kDefaultThreads);
  ~BlockingPool();
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;

  // Callable from any thread; FIFO. REQUIRES: before stop().
  void submit(Job& job);
  // Runs all queued jobs and ends the threads. Callable from any thread outside the pool;
  // idempotent.
  void stop();

  // Calls fn() on a thread of the pool and resumes with its result on the caller's loop.
  template <class F>
  Async<std::invoke_result_t<F&>> run(F fn) {
    const ShardExecutor executor = co_await asio::this_coro::executor;
    Call<F> call(executor, fn);
    submit(call);
    co_await call.waiter.wait();
    co_return std::move(*call.answer);
  }

 private:
  template <class F>
  struct Call : Job {
    Call(const ShardExecutor& e, F& f) : work(asio::make_work_guard(e)), fn(f) { run = &carry_out; }
    static void carry_out(Job& job) {
      auto& call = static_cast<Call&>(job);
      call.answer.emplace(call.fn());
      // After the post the coroutine frame and its guard may be destroyed at any time.
      const auto executor = call.work.get_executor();
      asio::post(executor, [&call] { call.waiter.resume(); });
    }
    asio::executor_work_guard<ShardExecutor> work;  // keeps the loop running
    F& fn;
    std::optional<std::invoke_result_t<F&>> answer;
    Waiter waiter;
  };

  void serve();

  std::mutex mutex_;
  std::condition_variable wake_;
  Job* head_ = nullptr;
  Job* tail_ = nullptr;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace cellar
