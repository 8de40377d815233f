// Waiter: resumes a coroutine from a callback. The coroutine keeps a Waiter in its frame and awaits
// wait(); the completion calls resume() on the same loop. Does not allocate.
//
//   Async<int64_t> run(File& file, IoOp& op) {
//     Waiter waiter;
//     op.context = &waiter;
//     op.done = [](IoOp& o) { static_cast<Waiter*>(o.context)->resume(); };
//     file.submit(op);
//     co_await waiter.wait();
//     co_return op.result;
//   }
//
// A coroutine parked when its loop's io_context is destroyed is destroyed with it, like Asio's own
// operations: a service of the io_context tracks all parked waiters, so a simulated crash does not
// leak. Objects that the frame refers to must outlive the loop.
#pragma once

#include <optional>

#include <boost/asio/async_result.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/intrusive/list.hpp>

#include "io/loop/async.h"

namespace cellar {

using AutoUnlink =
    boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

// One loop, one waiting coroutine at a time.
class Waiter : public AutoUnlink {
 public:
  Waiter() = default;
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // Suspends the caller until resume(). One earlier resume() is remembered.
  Async<void> wait();
  // Queues the waiting coroutine on the loop; it never runs inside this call.
  void resume();
  bool parked() const { return handler_.has_value(); }

 private:
  friend class ParkingLot;
  using Token = asio::use_awaitable_t<ShardExecutor>;
  using Handler = asio::async_result<Token, void()>::handler_type;

  void park(Handler handler);

  std::optional<Handler> handler_;
  bool resumed_ = false;
};

}  // namespace cellar
