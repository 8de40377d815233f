#include "io/loop/async.h"

#include <exception>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "io/loop/timers.h"
#include "io/loop/waiter.h"

namespace cellar {

void spawn(ShardExecutor executor, Async<void> work) {
  // noexcept: an exception from a coroutine ends the process here; the terminate handler names it.
  asio::co_spawn(executor, std::move(work), [](std::exception_ptr thrown) noexcept {
    if (thrown) std::rethrow_exception(thrown);
  });
}

Async<void> yield_now() {
  const ShardExecutor executor = co_await asio::this_coro::executor;
  co_await asio::post(executor, asio::use_awaitable_t<ShardExecutor>());
}

Async<void> sleep_us(Timers& timers, int64_t delay_us) {
  Waiter waiter;
  Timer timer(timers, [](void* context) { static_cast<Waiter*>(context)->resume(); }, &waiter);
  timer.arm_after_us(delay_us);
  co_await waiter.wait();
}

}  // namespace cellar
