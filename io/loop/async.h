// The one place where Asio's coroutine types get Cellar's names. Engine headers include this and
// nothing else of Asio.
//
// Every coroutine of a shard runs on that shard's loop: one thread, no locks. House rule for
// co_await: one in a statement, and in that statement no brace-initialised object, no capturing
// lambda, no ?:, no class temporary under && or ||. Coroutines take values, or references to
// something that outlives them.
#pragma once

#include <type_traits>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

namespace cellar {

namespace asio = boost::asio;

using ShardExecutor = asio::io_context::executor_type;

template <class T = void>
using Async = asio::awaitable<T, ShardExecutor>;

// Starts a coroutine that nobody waits for. On the loop's own thread it runs to its first
// suspension at once; else when the loop gets to it. An exception that leaves it is a bug and
// aborts.
void spawn(ShardExecutor executor, Async<void> work);

namespace detail {
template <class F>
Async<void> run_owned(F fn) {
  co_await fn();
}
}  // namespace detail

// The same for a function object that makes the coroutine; it is kept until the coroutine is done,
// so a lambda may capture.
template <class F>
  requires std::is_invocable_r_v<Async<void>, F&>
void spawn(ShardExecutor executor, F fn) {
  spawn(executor, detail::run_owned(std::move(fn)));
}

// Lets everything else that is ready on this loop run first.
Async<void> yield_now();

}  // namespace cellar
