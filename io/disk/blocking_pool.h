// BlockingPool: the few threads that make calls which may block (open, rename, fsync of a
// directory, and every read and write where io_uring is not to be had). Shared by all shards of a
// process; the only place of io/disk where threads meet.
//
// A job's memory belongs to whoever submits it and must stay put until its run() has posted the
// answer back to the loop. Hence the order at the end of a process: stop() the pool, then destroy
// the loops. What is queued is bounded by those who submit: one job a waiting coroutine, and
// PoolEngine::kMaxInFlight a shard.
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
    void (*run)(Job& job) = nullptr;  // on a thread of the pool
    Job* next = nullptr;
  };

  // threads in 1..kMaxThreads.
  explicit BlockingPool(int threads = kDefaultThreads);
  ~BlockingPool();
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;

  // From any thread; first in, first out. REQUIRES: before stop().
  void submit(Job& job);
  // Carries out what is queued and ends the threads. From any thread outside the pool, once or
  // more.
  void stop();

  // Calls fn() on a thread of the pool and resumes with its answer on the caller's loop.
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
      // The frame, and the guard in it, may be gone as soon as the loop has the post.
      const auto executor = call.work.get_executor();
      asio::post(executor, [&call] { call.waiter.resume(); });
    }
    asio::executor_work_guard<ShardExecutor> work;  // the loop is waiting for this
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
