#include "io/loop/loop.h"

#include <algorithm>

#include <boost/asio/post.hpp>

#include "io/base/check.h"
#include "io/loop/loop_of.h"

namespace cellar {
namespace {

// Names the loop of an io_context.
class LoopService final : public asio::execution_context::service {
 public:
  using key_type = LoopService;
  static inline asio::execution_context::id id;

  explicit LoopService(asio::execution_context& context, Loop* loop = nullptr)
      : service(context), loop_(loop) {}
  Loop* loop() const { return loop_; }

 private:
  void shutdown() override {}

  Loop* const loop_;
};

}  // namespace

Loop& loop_of(ShardExecutor executor) {
  Loop* loop = asio::use_service<LoopService>(executor.context()).loop();
  CHECK(loop != nullptr, "an executor without a Loop");
  return *loop;
}

// The concurrency hint 1 says that one thread runs the context, which makes posts from that thread
// cheap. Posts from other threads remain allowed.
Loop::Loop() : context_(std::make_unique<asio::io_context>(1)), awake_(context_->get_executor()) {
  asio::make_service<LoopService>(*context_, this);
}

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

bool Loop::run_ready_handlers() {
  // poll() alone continues as long as handlers post others or sockets deliver more, and poll_one()
  // frees Asio's recycled memory after every handler. A posted mark therefore ends poll().
  bool delivered = false;
  asio::post(*context_, [this, &delivered] {
    context_->stop();
    delivered = deliver();
  });
  const size_t ran = context_->poll();
  context_->restart();
  return ran > 1 || delivered;
}

bool Loop::deliver() {
  in_hooks_ = true;
  bool worked = false;
  const size_t count = hooks_.size();
  for (size_t i = 0; i < count; ++i) {
    if (hooks_[i] != nullptr && hooks_[i]->deliver()) worked = true;
  }
  in_hooks_ = false;
  std::erase(hooks_, nullptr);
  return worked;
}

bool Loop::run_hooks() {
  in_hooks_ = true;
  const size_t count = hooks_.size();
  size_t worked = 0;  // 1 + index of the last hook that did work
  for (size_t i = 0; i < count; ++i) {
    if (hooks_[i] != nullptr && hooks_[i]->on_turn()) worked = i + 1;
  }
  // What that one has handed to hooks before it (a message, a read, an append) leaves in this turn
  // too.
  for (size_t i = 0; i + 1 < worked; ++i) {
    if (hooks_[i] != nullptr) hooks_[i]->on_turn();
  }
  in_hooks_ = false;
  std::erase(hooks_, nullptr);
  return worked > 0;
}

bool Loop::hooks_may_sleep() {
  return std::ranges::all_of(hooks_, [](LoopHook* hook) { return hook->may_sleep(); });
}

}  // namespace cellar
