#include "engine/write/flow_control.h"

#include <algorithm>
#include <utility>

#include "engine/engine.h"

namespace cellar::engine {
namespace {

constexpr double kOnset = 0.5;  // fraction of a bound

constexpr double per_us(double per_second) { return per_second * 1e-6; }

// Of the newest measurement in the average.
constexpr double kNewestWeight = 0.25;
// Flushes of less than one in so many of a full memtable weigh less.
constexpr double kSmallFlush = 64;

}  // namespace

double flow_pressure(uint64_t level, uint64_t bound) {
  const double part =
      static_cast<double>(level) / static_cast<double>(std::max<uint64_t>(bound, 1));
  return std::clamp((part - kOnset) / (1 - kOnset), 0.0, 1.0);
}

double flow_rate(double drain, double pressure) {
  if (pressure <= 0) return RateBudget::kUnlimited;
  return std::max(drain * (1 - pressure) / pressure, FlowControl::kLeastRate);
}

// ---- the writers of a tablet

FlowControl::Writers::~Writers() {
  if (waits()) flow_.adopt(*this);
}

void FlowControl::Writers::set_runs_behind(size_t runs) {
  const size_t behind = runs > kFreeRuns ? runs - kFreeRuns : 0;
  pressure_ = std::min(static_cast<double>(behind) / (kMostRuns - kFreeRuns), 1.0);
}

void FlowControl::Writers::answer(Write& write) {
  if (!flow_.slow_ && pressure_ == 0 && !flow_.pressed()) return write.done(write);
  if (!flow_.slow_) flow_.begin();
  if (!waits() && flow_.passes(*this)) return write.done(write);
  flow_.hold(*this, write);
}

void FlowControl::Writers::push(Write& write) {
  write.next = nullptr;
  (last_ == nullptr ? first_ : last_->next) = &write;
  last_ = &write;
}

Write& FlowControl::Writers::pop() {
  Write& write = *first_;
  first_ = std::exchange(write.next, nullptr);
  if (first_ == nullptr) last_ = nullptr;
  return write;
}

// ---- the shard

FlowControl::FlowControl(Timers& timers)
    : timers_(timers),
      alarm_(timers, [](void* self) { static_cast<FlowControl*>(self)->tick(); }, this) {}

void FlowControl::flushed(uint64_t bytes, int64_t took_us) {
  const double seconds = static_cast<double>(std::max<int64_t>(took_us, 1)) / 1e6;
  const auto size = static_cast<double>(bytes);
  // The time of a small flush is that of its syncs: it says little about the disk.
  const double small =
      levels_ ? static_cast<double>(levels_().full_memtable_bytes) / kSmallFlush : 0;
  const double weight = kNewestWeight * std::min(1.0, size / std::max(small, 1.0));
  flush_drain_ += (size / seconds - flush_drain_) * weight;
}

bool FlowControl::pressed() const {
  if (!levels_) return false;
  const FlowLevels now = levels_();
  return now.memtable_bytes * 2 > now.memtable_bound ||
         now.log_pending_bytes * 2 > now.log_pending_bound;
}

// A tablet without waiting answers spends its own credit at once, and its part of the shard's
// credit that is reserved for such tablets.
bool FlowControl::passes(Writers& writers) {
  earn_own(writers);
  if (!writers.own_.has_credit()) return false;
  if (!shared_.is_unlimited() && !takes_part(writers)) return false;
  writers.own_.spend(writers.mean_bytes_);
  return true;
}

bool FlowControl::takes_part(Writers& writers) {
  if (!light_.has_credit()) return false;
  writers.part_.earn(per_us(part_rate_), timers_.now_us());
  if (!writers.part_.covers(writers.mean_bytes_)) return false;
  writers.part_.spend(writers.mean_bytes_);
  light_.spend(writers.mean_bytes_);
  return true;
}

void FlowControl::hold(Writers& writers, Write& write) {
  if (!writers.waits()) waiting_.push_back(&writers);
  writers.push(write);
  ++held_;
}

// Nothing is limited before the first tick.
void FlowControl::begin() {
  slow_ = true;
  ticked_us_ = timers_.now_us();
  earn(RateBudget::kUnlimited);
  log_durable_end_ = levels_ ? levels_().log_durable_end : 0;
  log_moved_us_ = ticked_us_;
  alarm_.arm_after_us(Timers::kTickUs);
}

void FlowControl::tick() {
  const int64_t now_us = timers_.now_us();
  const double seconds = static_cast<double>(now_us - ticked_us_) / 1e6;
  ticked_us_ = now_us;
  const FlowLevels levels = levels_ ? levels_() : FlowLevels();
  measure_log(levels, seconds);
  earn(shared_rate(levels));
  release_orphans();
  release();
  slow_ = !shared_.is_unlimited() || !waiting_.empty();
  if (slow_) alarm_.arm_after_us(Timers::kTickUs);
}

double FlowControl::shared_rate(const FlowLevels& levels) const {
  const double memory = flow_pressure(levels.memtable_bytes, levels.memtable_bound);
  const double log = flow_pressure(levels.log_pending_bytes, levels.log_pending_bound);
  return std::min(flow_rate(flush_drain_, memory), log_rate(log));
}

double FlowControl::log_rate(double pressure) const {
  const int64_t still_us = ticked_us_ - log_moved_us_;
  if (still_us <= kStillUs || pressure <= 0) return flow_rate(log_drain_, pressure);
  const double part = static_cast<double>(kStillUs) / static_cast<double>(still_us);
  return std::max(log_drain_ * part * part * (1 - pressure) / pressure, kLeastRate * part);
}

double FlowControl::runs_rate(double pressure) const {
  return std::max(flow_rate(flush_drain_, pressure), flush_drain_ * kLeastOfDrain);
}

FlowPressures FlowControl::pressures() const {
  if (!levels_) return {};
  const FlowLevels levels = levels_();
  return {.memtables = flow_pressure(levels.memtable_bytes, levels.memtable_bound),
          .log = flow_pressure(levels.log_pending_bytes, levels.log_pending_bound)};
}

void FlowControl::measure_log(const FlowLevels& levels, double seconds) {
  const auto drained = static_cast<double>(levels.log_durable_end - log_durable_end_);
  log_durable_end_ = levels.log_durable_end;
  if (drained > 0 || levels.log_pending_bytes == 0) log_moved_us_ = ticked_us_;
  if (seconds > 0 && levels.log_pending_bytes > 0) {
    // a measurement over a tenth of a second replaces the average
    const double weight = std::min(seconds * 10, 1.0);
    log_drain_ += (drained / seconds - log_drain_) * weight;
  }
}

void FlowControl::earn_own(Writers& writers) const {
  writers.own_.earn(per_us(runs_rate(writers.pressure_)), timers_.now_us());
}

// One part goes to tablets without waiting answers, as far as they have not got it yet.
void FlowControl::earn(double rate) {
  part_rate_ = rate / static_cast<double>(waiting_.size() + 1);
  shared_.earn(per_us(rate), ticked_us_);
  shared_.spend(light_.earn(per_us(part_rate_), ticked_us_));
  for (Writers* writers : waiting_) earn_own(*writers);
}

// Round robin, one answer each. Callbacks may change the lists.
void FlowControl::release() {
  for (size_t stuck = 0; stuck < waiting_.size() && shared_.has_credit();) {
    Writers& writers = *waiting_.front();
    waiting_.pop_front();
    if (!writers.own_.has_credit()) {
      waiting_.push_back(&writers);
      ++stuck;
      continue;
    }
    stuck = 0;
    shared_.spend(writers.mean_bytes_);
    writers.own_.spend(writers.mean_bytes_);
    Write& write = writers.pop();
    if (writers.waits()) waiting_.push_back(&writers);
    write.done(write);
  }
}

// Does not access the writes: after a crash of a simulated machine they may have been freed.
void FlowControl::adopt(Writers& writers) {
  std::erase(waiting_, &writers);
  orphans_.push_back(writers.first_);
}

void FlowControl::release_orphans() {
  for (Write* write : std::exchange(orphans_, {})) {
    while (write != nullptr) {
      Write& answered = *write;
      write = std::exchange(answered.next, nullptr);
      answered.done(answered);
    }
  }
}

}  // namespace cellar::engine
