#include "io/loop/background.h"

#include <algorithm>

#include "io/loop/rate_budget.h"

namespace cellar {
namespace {

size_t place(BackgroundKind kind) { return static_cast<size_t>(kind); }

}  // namespace

double Background::share_of(double backlog) {
  return kLeastShare + (kMostShare - kLeastShare) * std::clamp(backlog, 0.0, 1.0);
}

// ---- Work

Background::Work::~Work() {
  end();
  std::erase(background_.waiting_, this);
}

Async<void> Background::Work::begin() {
  end();
  background_.waiting_.push_back(this);
  uint64_t before = 0;
  do {
    before = background_.stats_.slices;
    co_await yield_now();
  } while (!background_.may_begin(*this, before));
}

int64_t Background::Work::end() {
  if (!in_slice_) return 0;
  in_slice_ = false;
  return background_.ended(*this, background_.clock_.boot_us());
}

// ---- scheduling

double Background::share(BackgroundKind kind) const { return share_of(backlogs_[place(kind)]); }

double Background::share_of_all() const {
  std::array<double, kBackgroundKinds> shares{};
  for (const Work* work : waiting_) shares[place(work->kind_)] = share(work->kind_);
  double sum = 0;
  for (const double one : shares) sum += one;
  return std::min(sum, kMostOfAll);
}

// The kind that had least time for its share; among its works the one whose last slice is oldest.
Background::Work* Background::next() const {
  return *std::min_element(waiting_.begin(), waiting_.end(), [this](const Work* a, const Work* b) {
    const double had_a = had_[place(a->kind_)];
    const double had_b = had_[place(b->kind_)];
    return had_a != had_b ? had_a < had_b : a->last_slice_ < b->last_slice_;
  });
}

bool Background::may_begin(Work& work, uint64_t slices_before) {
  if (stats_.slices != slices_before) return false;  // this turn had its slice
  if (next() != &work) return false;
  const int64_t now_us = clock_.boot_us();
  look(now_us);
  if (!idle_ && owed_us_ > 0) {
    ++stats_.put_off;
    return false;
  }
  began(work, now_us);
  return true;
}

// Time since the last look that was not background work was serving or an empty turn.
void Background::look(int64_t now_us) {
  const int64_t other_us = now_us - seen_us_;
  seen_us_ = now_us;
  idle_ = other_us < kIdleTurnUs;
  if (!idle_) served_us_ = now_us;
  owed_us_ = std::max(0.0, owed_us_ - static_cast<double>(other_us));
  if (backlog_ && now_us - asked_us_ >= kBacklogEveryUs) {
    asked_us_ = now_us;
    for (size_t i = 0; i < kBackgroundKinds; ++i)
      backlogs_[i] = std::clamp(backlog_(static_cast<BackgroundKind>(i)), 0.0, 1.0);
  }
}

void Background::began(Work& work, int64_t now_us) {
  // A work that did not wait accumulates no credit.
  const double least = had_[place(work.kind_)];
  for (double& had : had_) had = std::max(had, least);
  const double all = share_of_all();
  owed_us_ = idle_ ? 0 : rest_us(1, all);  // per microsecond of the slice
  std::erase(waiting_, &work);
  work.in_slice_ = true;
  work.last_slice_ = ++stats_.slices;
  work.began_us_ = now_us;
  const bool busy = now_us - served_us_ < kBusyForUs;
  work.until_us_ = now_us + (busy ? kBusySliceUs : kIdleSliceUs);
}

int64_t Background::ended(Work& work, int64_t now_us) {
  const int64_t took_us = now_us - work.began_us_;
  const auto counted_us = static_cast<double>(std::min(took_us, kMostSliceUs));
  owed_us_ *= counted_us;
  had_[place(work.kind_)] += counted_us / share(work.kind_);
  seen_us_ = now_us;
  stats_.worked_us += took_us;
  stats_.longest_us = std::max(stats_.longest_us, took_us);
  return took_us;
}

}  // namespace cellar
