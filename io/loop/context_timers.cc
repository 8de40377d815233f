#include "io/loop/context_timers.h"

#include <algorithm>
#include <chrono>

namespace cellar {

int64_t steady_us() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
}

ContextTimers::ContextTimers(asio::io_context& context) : alarm_(context) {
  wheel_.advance(steady_us());
}

ContextTimers::~ContextTimers() = default;

int64_t ContextTimers::now_us() const { return steady_us(); }

void ContextTimers::arm(Timer& timer, int64_t deadline_us) {
  wheel_.arm(timer, deadline_us);
  set_alarm();
}

void ContextTimers::cancel(Timer& timer) {
  wheel_.cancel(timer);
  if (wheel_.armed() > 0 || alarm_us_ == WheelTimers::kNever) return;
  alarm_us_ = WheelTimers::kNever;
  alarm_.cancel();
}

void ContextTimers::set_alarm() {
  const int64_t due_us = wheel_.next_due_us();
  if (due_us >= alarm_us_) return;
  alarm_us_ = due_us;
  // The longest wait that cannot overflow the clock's arithmetic; the alarm then rechecks.
  constexpr int64_t kLongestUs = int64_t{3'600} * 1'000'000;
  const int64_t wait_us = std::clamp<int64_t>(due_us - steady_us(), 0, kLongestUs);
  alarm_.expires_after(std::chrono::microseconds(wait_us));  // replaces a longer wait
  alarm_.async_wait([this, alive = std::weak_ptr<bool>(alive_)](boost::system::error_code error) {
    if (!error && !alive.expired()) on_alarm();
  });
}

void ContextTimers::on_alarm() {
  alarm_us_ = WheelTimers::kNever;
  wheel_.advance(steady_us());
  set_alarm();
}

}  // namespace cellar
