// ContextTimers: timers on a plain io_context, for programs that bring their own and have no
// ShardLoop. A timing wheel behind one Asio timer, which is set only when the next alarm comes
// nearer than the one it is set for. With no alarm armed it keeps no context busy.
#pragma once

#include <memory>

#include <boost/asio/steady_timer.hpp>

#include "io/loop/timers.h"
#include "io/loop/wheel_timers.h"

namespace cellar {

// One thread runs the context. Must go before the context does, or with its last handler.
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
  std::shared_ptr<bool> alive_ = std::make_shared<bool>();  // a wait that is over may run later
  int64_t alarm_us_ = WheelTimers::kNever;                  // what it is set for
};

}  // namespace cellar
