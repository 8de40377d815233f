#include "engine/compaction/pace.h"

namespace cellar::engine {

void Pace::begin(const PaceTask& task) {
  task_ = task;
  task_.share = std::clamp(task.share, kLeastShare, 1.0);
  running_ = true;
  share_ = task_.share;
  owed_us_ = owed_for_bytes_us_ = 0;
  written_ = 0;
  worked_us_ = rested_us_ = 0;
  since_us_ = timers_.now_us();
  steer(0);
}

void Pace::boost() {
  task_.share = share_ = 1;
  owed_us_ = 0;
  wake();
}

void Pace::finish_at_once() {
  task_.write_rate = 0;
  owed_for_bytes_us_ = 0;
  boost();
}

void Pace::progress(double done, uint64_t written) {
  const uint64_t more = written - std::min(written, written_);
  written_ = std::max(written, written_);
  if (task_.write_rate > 0) owed_for_bytes_us_ += static_cast<double>(more) / task_.write_rate;
  steer(done);
}

void Pace::steer(double done) {
  if (task_.end_by_us == INT64_MAX) return;
  const auto left_us = static_cast<double>(task_.end_by_us - since_us_);
  const double all_us =
      done > kTelling ? static_cast<double>(worked_us_) / done : task_.bytes * us_per_byte();
  const double needed = left_us < 1 ? 1 : kHaste * all_us * (1 - std::min(done, 1.0)) / left_us;
  share_ = std::clamp(needed, task_.share, 1.0);
  if (share_ >= 1) owed_us_ = 0;
}

Async<void> Pace::rest() {
  count();
  if (!owes_rest()) co_return;
  alarm_.arm_after_us(static_cast<int64_t>(owed()));
  co_await woken_.wait();
  alarm_.cancel();
  const int64_t rest_us = pass();
  rested_us_ += rest_us;
  add_rest(rest_us);
}

void Pace::begin_slice() { add_rest(pass()); }

void Pace::end_slice(int64_t took_us) {
  add_work(took_us);
  total_us_ += took_us;
  since_us_ += took_us;
  pass_for_bytes(took_us);
}

void Pace::end(uint64_t bytes) {
  count();
  running_ = false;
  learn(worked_us_, bytes);
}

void Pace::learn(int64_t worked_us, uint64_t bytes) {
  if (bytes == 0 || worked_us == 0) return;
  const double per_byte = static_cast<double>(worked_us) / static_cast<double>(bytes);
  us_per_byte_ = us_per_byte_ == 0 ? per_byte : (us_per_byte_ + per_byte) / 2;
}

// The time since the last call.
int64_t Pace::pass() {
  const int64_t passed_us = std::max<int64_t>(timers_.now_us() - since_us_, 0);
  total_us_ += passed_us;
  since_us_ += passed_us;
  pass_for_bytes(passed_us);
  return passed_us;
}

void Pace::add_work(int64_t took_us) {
  const int64_t worked_us = std::min(took_us, kMostWorkUs);
  worked_us_ += worked_us;
  owed_us_ += static_cast<double>(worked_us) * (1 / share_ - 1);
}

}  // namespace cellar::engine
