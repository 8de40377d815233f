// Loop: the event loop of one shard. One thread runs it and all code of the shard.
//
// A turn fires the due timers, runs the ready handlers (handlers they post run in the next turn, so
// no handler can monopolise the loop), lets the ring deliver completions, then calls every hook
// once. In its hook the ring submits its batch, a mailbox delivers, a session flushes its output:
// the work of one turn leaves together. Implementations: ShardLoop (shard_loop.h) and SimLoop
// (sim_loop.h).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>

#include "io/loop/async.h"
#include "io/loop/timers.h"

namespace cellar {

// Called once per loop turn. Owned by the caller that adds it.
class LoopHook {
 public:
  virtual ~LoopHook() = default;
  // Returns true if it did work; the loop then takes another turn before it may sleep.
  virtual bool on_turn() = 0;
  // Called once per turn before the hooks, inside a handler of the io_context, for a hook that
  // brings what a socket's handler would: spawn() runs a coroutine to its first suspension, which
  // it does not inside on_turn(). Hooks deliver in the order of addition: a later one may use what
  // an earlier one has brought. Returns true if it did work.
  virtual bool deliver() { return false; }
  // Called before the loop sleeps; false keeps it awake. A hook that returns true must be able to
  // wake the loop by completing something on its io_context (an eventfd, a post, a timer). Between
  // two calls on_turn() is called again.
  virtual bool may_sleep() { return true; }
};

class Loop {
 public:
  virtual ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  asio::io_context& context();
  ShardExecutor executor() { return context().get_executor(); }
  virtual Timers& timers() = 0;

  // Call on the loop's thread or before it runs. Hooks run in the order of addition. on_turn() may
  // add or remove hooks. A hook must be removed before it is destroyed.
  void add_hook(LoopHook& hook);
  void remove_hook(LoopHook& hook);

 protected:
  Loop();
  // Runs the handlers queued now, polls the sockets once and lets the hooks deliver; true if there
  // was anything.
  bool run_ready_handlers();
  // True if any hook did work.
  bool run_hooks();
  bool hooks_may_sleep();
  // Destroys the io_context and all coroutines suspended on it. Subclasses call it while their
  // timers still exist, because a coroutine frame may hold a Timer or a hook.
  void destroy_context();

 private:
  bool deliver();

  std::vector<LoopHook*> hooks_;  // a removed hook stays null until the round ends
  bool in_hooks_ = false;
  std::unique_ptr<asio::io_context> context_;
  // Keeps Asio from stopping a context without work.
  std::optional<asio::executor_work_guard<ShardExecutor>> awake_;
};

}  // namespace cellar
