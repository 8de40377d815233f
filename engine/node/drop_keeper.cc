#include "engine/node/drop_keeper.h"

#include <algorithm>
#include <utility>

#include "io/base/log.h"

namespace cellar::engine {

DropKeeper::DropKeeper(const Runtime& runtime, Due due_us, EndOne end_one)
    : runtime_(runtime),
      due_us_(std::move(due_us)),
      end_one_(std::move(end_one)),
      timer_(runtime_.timers, &DropKeeper::on_timer, this) {}

void DropKeeper::serve() { spawn(runtime_.executor, loop()); }

Async<void> DropKeeper::stop() {
  stopping_ = true;
  wake_.notify_all();
  co_await running_.close();
}

Async<void> DropKeeper::loop() {
  auto pass = running_.enter();
  while (pass && !stopping_) {
    const int64_t due_us = due_us_();
    const int64_t now_us = runtime_.clock.now_us();
    const int64_t backing_off_us = not_before_us_ - runtime_.timers.now_us();
    if (due_us > now_us || backing_off_us > 0) {
      if (due_us != INT64_MAX) {
        // Trusted time may stand still on an idle node.
        const int64_t expected_us = runtime_.clock.expected_us();
        if (due_us > now_us && due_us <= expected_us) runtime_.clock.ask_us();
        const int64_t wait_us = due_us > expected_us ? due_us - expected_us : 0;
        timer_.arm_after_us(
            std::clamp(std::max(wait_us, backing_off_us), kLeastWaitUs, kMostWaitUs));
      }
      co_await wake_.wait();
      continue;
    }
    const Result<void> ended = co_await end_one_();
    if (!ended) {
      not_before_us_ = runtime_.timers.now_us() + kRetryUs;
      if (!failed_) {
        log_error("node", "a dropped table stays though its time is over: {}",
                  ended.error().to_string());
      }
    }
    failed_ = !ended;
  }
  timer_.cancel();
}

}  // namespace cellar::engine
