#include "engine/compaction/pace.h"

namespace cellar::engine {

Pace::Pace(Timers& timers, const PaceTask& task)
    : timers_(timers),
      alarm_(
          timers, [](void* self) { static_cast<Pace*>(self)->woken_.notify_all(); }, this),
      task_(task),
      share_(std::clamp(task.share, kLeastShare, 1.0)),
      rest_(0, timers.now_us()),
      bytes_(kMostCreditUs, timers.now_us()),
      since_us_(timers.now_us()) {
  task_.share = share_;
  steer(0);
}

void Pace::boost() {
  task_.share = share_ = 1;
  woken_.notify_all();
}

void Pace::finish_at_once() {
  task_.write_rate = RateBudget::kUnlimited;
  boost();
}

void Pace::progress(double done, uint64_t written) {
  bytes_.spend(static_cast<double>(written - std::min(written, written_)));
  written_ = std::max(written, written_);
  steer(done);
}

void Pace::steer(double done) {
  if (task_.end_by_us == INT64_MAX) return;
  // A pause may end a tick late.
  const auto left_us = static_cast<double>(task_.end_by_us - timers_.now_us() - kLeastRestUs);
  const double all_us = done > kTelling ? static_cast<double>(worked_us()) / done : task_.work_us;
  const double needed = left_us < 1 ? 1 : kHaste * all_us * (1 - std::min(done, 1.0)) / left_us;
  share_ = std::clamp(needed, task_.share, 1.0);
}

Async<void> Pace::rest() {
  count_work();
  earn();
  while (owed_us() >= kLeastRestUs) {
    alarm_.arm_after_us(static_cast<int64_t>(owed_us()));
    co_await woken_.wait();
    alarm_.cancel();
    earn();
  }
  since_us_ = timers_.now_us();
}

void Pace::begin_slice() {
  earn();
  since_us_ = timers_.now_us();
}

void Pace::earn() {
  const int64_t now_us = timers_.now_us();
  rest_.earn(share_ < 1 ? 1 : RateBudget::kUnlimited, now_us);
  bytes_.earn(task_.write_rate, now_us);
}

// The time of the work itself is not a pause.
void Pace::count_work() {
  const int64_t took_us = uncounted_us();
  const int64_t worked_us = std::min(took_us, kMostWorkUs);
  worked_us_ += worked_us;
  since_us_ = timers_.now_us();
  slice_us_ = 0;
  rest_.spend(static_cast<double>(took_us) + rest_us(static_cast<double>(worked_us), share_));
}

}  // namespace cellar::engine
