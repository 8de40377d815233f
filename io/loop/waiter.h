// Waiter: the bridge from a callback to a coroutine. The coroutine keeps a Waiter in its frame and
// awaits wait(); whatever completes the work calls resume() on the same loop. No allocation.
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
// A coroutine that is parked when its loop's io_context is destroyed is destroyed with it, as Asio
// does with its own operations: every parked waiter is known to a service of the io_context. So
// nothing leaks at the end of a simulated crash. What the frame refers to must outlive the loop.
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

  // Parks the caller until resume(). A resume() that came first is remembered, once.
  Async<void> wait();
  // Continues the waiting coroutine from the loop's queue, never inside this call.
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
