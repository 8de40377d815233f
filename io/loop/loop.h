// Loop: the event loop of one shard. One thread runs it; everything of the shard happens there.
//
// A turn: fire the timers that are due, run the handlers that are ready (what they post runs in the
// next turn, so nobody can keep the loop to himself), then ask every hook once. The ring submits
// its batch and looks at its completions in its hook, a mailbox delivers, a session writes what it
// has gathered: work of one turn leaves together. Bodies: ShardLoop (shard_loop.h) and SimLoop
// (sim_loop.h).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>

#include "io/loop/async.h"
#include "io/loop/timers.h"

namespace cellar {

// Something that is asked once a loop turn. Owned by whoever adds it.
class LoopHook {
 public:
  virtual ~LoopHook() = default;
  // True when it did work: the loop then takes another turn before it thinks of sleeping.
  virtual bool on_turn() = 0;
  // Asked right before the loop would sleep; false keeps it awake. A hook that answers true must be
  // able to wake the loop by completing something on its io_context (an eventfd, a post, a timer).
  // It is asked on_turn() again before it is asked this a second time.
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

  // On the loop's thread, or before it runs. Hooks are asked in the order they were added; one may
  // be added or removed inside on_turn(). A hook must be removed before it is destroyed.
  void add_hook(LoopHook& hook);
  void remove_hook(LoopHook& hook);

 protected:
  Loop();
  // Runs the handlers that are queued now and looks at the sockets once; the count of those run.
  size_t run_ready_handlers();
  // True when any hook did work.
  bool run_hooks();
  bool hooks_may_sleep();
  // Destroys the io_context and with it every coroutine that is suspended on it. Bodies call it
  // while their timers still exist, because a coroutine frame may hold a Timer or a hook.
  void destroy_context();

 private:
  std::vector<LoopHook*> hooks_;  // a removed hook leaves a null until the round is over
  bool in_hooks_ = false;
  std::unique_ptr<asio::io_context> context_;
  // Without it Asio stops a context that runs out of work.
  std::optional<asio::executor_work_guard<ShardExecutor>> awake_;
};

}  // namespace cellar
