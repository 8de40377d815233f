// ContextTimers: timers on a plain io_context, for programs without a ShardLoop. A timing wheel
// driven by one Asio timer, which is reset only when an earlier alarm is armed. Without alarms it
// keeps no context busy.
#pragma once

#include <memory>

#include <boost/asio/steady_timer.hpp>

#include "io/loop/timers.h"
#include "io/loop/wheel_timers.h"

namespace cellar {

// The monotonic clock: the time of the timers of every real loop.
int64_t steady_us();

// One thread runs the context. Destroy this before the context or with its last handler.
class ContextTimers final : public Timers {
 public:
  explicit ContextTimers(asio::io_context& context);
  ~ContextTimers() override;

  int64_t now_us() const override;
  void arm(Timer& timer, int64_t deadline_us) override;
  void cancel(Timer& timer) override;

 private:
  void set_alarm();
  void on_alarm();

  WheelTimers wheel_;
  asio::steady_timer alarm_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>();  // an expired wait may run later
  int64_t alarm_us_ = WheelTimers::kNever;                  // when the alarm is set to fire
};

}  // namespace cellar
