// Cellar's names for Asio's coroutine types. Engine headers include no other Asio header.
//
// Every coroutine of a shard runs on that shard's loop: one thread, no locks. Rule for co_await: at
// most one in a statement, and that statement has no brace-initialised object, capturing lambda, ?:
// or class temporary under && or ||. Coroutine parameters are values, or references to objects that
// outlive the coroutine.
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

// Starts a detached coroutine. On the loop's own thread it runs to its first suspension
// immediately; from other threads it is queued. An exception that leaves it is a bug and aborts.
void spawn(ShardExecutor executor, Async<void> work);

namespace detail {
template <class F>
Async<void> run_owned(F fn) {
  co_await fn();
}
}  // namespace detail

// The same for a function object that makes the coroutine. The object lives until the coroutine
// ends, so a lambda may capture.
template <class F>
  requires std::is_invocable_r_v<Async<void>, F&>
void spawn(ShardExecutor executor, F fn) {
  spawn(executor, detail::run_owned(std::move(fn)));
}

// Lets all other ready handlers of this loop run first.
Async<void> yield_now();

}  // namespace cellar
