#include "io/loop/loop.h"

#include <algorithm>

#include <boost/asio/post.hpp>

#include "io/base/check.h"

namespace cellar {

// The concurrency hint 1 says that one thread runs the context, which makes posts from that thread
// cheap. Posts from other threads remain allowed.
Loop::Loop() : context_(std::make_unique<asio::io_context>(1)), awake_(context_->get_executor()) {}

Loop::~Loop() { CHECK(!context_, "a body of Loop must destroy its context itself"); }

asio::io_context& Loop::context() {
  CHECK(context_, "this loop has crashed or is being destroyed");
  return *context_;
}

void Loop::destroy_context() {
  awake_.reset();
  context_.reset();
}

void Loop::add_hook(LoopHook& hook) {
  DCHECK(std::ranges::find(hooks_, &hook) == hooks_.end());
  hooks_.push_back(&hook);
}

void Loop::remove_hook(LoopHook& hook) {
  const auto at = std::ranges::find(hooks_, &hook);
  CHECK(at != hooks_.end(), "a hook was removed that is not there");
  if (in_hooks_) {
    *at = nullptr;
  } else {
    hooks_.erase(at);
  }
}

size_t Loop::run_ready_handlers() {
  // poll() alone continues as long as handlers post others or sockets deliver more, and poll_one()
  // frees Asio's recycled memory after every handler. A posted mark therefore ends poll().
  asio::post(*context_, [this] { context_->stop(); });
  const size_t ran = context_->poll();
  context_->restart();
  return ran - 1;
}

bool Loop::run_hooks() {
  bool worked = false;
  in_hooks_ = true;
  const size_t count = hooks_.size();
  for (size_t i = 0; i < count; ++i) {
    if (hooks_[i] && hooks_[i]->on_turn()) worked = true;
  }
  in_hooks_ = false;
  std::erase(hooks_, nullptr);
  return worked;
}

bool Loop::hooks_may_sleep() {
  return std::ranges::all_of(hooks_, [](LoopHook* hook) { return hook->may_sleep(); });
}

}  // namespace cellar
