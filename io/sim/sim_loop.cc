#include "io/sim/sim_loop.h"

#include <algorithm>

namespace cellar {
namespace {

// Rounds without progress of time after which a run counts as a livelock.
constexpr uint64_t kMaxRoundsAtOneTime = 20'000'000;

}  // namespace

SimTimers::~SimTimers() {
  CHECK(armed_.empty(), "{} timers are armed while their loop goes", armed_.size());
}

void SimTimers::arm(Timer& timer, int64_t deadline_us) {
  if (timer.armed_) cancel(timer);
  timer.armed_ = true;
  timer.deadline_us_ = deadline_us;
  armed_.emplace(deadline_us, &timer);
}

void SimTimers::cancel(Timer& timer) {
  const auto [begin, end] = armed_.equal_range(timer.deadline_us_);
  const auto at = std::find_if(begin, end, [&](const auto& e) { return e.second == &timer; });
  CHECK(at != end, "a timer is armed elsewhere");
  armed_.erase(at);
  timer.armed_ = false;
}

size_t SimTimers::fire_due() {
  const int64_t now = now_us();
  // Only timers due by now: a timer armed by a callback without delay waits for the next turn.
  const auto due = static_cast<size_t>(std::distance(armed_.begin(), armed_.upper_bound(now)));
  size_t fired = 0;
  while (fired < due && !armed_.empty() && armed_.begin()->first <= now) {
    Timer& timer = *armed_.begin()->second;
    armed_.erase(armed_.begin());
    timer.armed_ = false;
    ++fired;
    timer.callback_(timer.context_);
  }
  return fired;
}

int64_t SimTimers::next_due_us() const {
  return armed_.empty() ? INT64_MAX : armed_.begin()->first;
}

SimLoop::~SimLoop() { destroy_context(); }

void SimLoop::crash() {
  crashed_ = true;
  destroy_context();
}

bool SimLoop::turn() {
  if (crashed_) return false;
  bool worked = timers_.fire_due() > 0;
  if (run_ready_handlers()) worked = true;
  if (run_hooks()) worked = true;
  return worked;
}

SimWorld::SimWorld(uint64_t seed) : clock_(kStartWallUs, 1'000'000), random_(seed) {}

// All coroutines are destroyed before any loop: a frame may hold a timer or hook of another loop.
SimWorld::~SimWorld() { crash(); }

SimLoop& SimWorld::add_loop() {
  loops_.push_back(std::make_unique<SimLoop>(clock_));
  return *loops_.back();
}

void SimWorld::crash() {
  for (const auto& loop : loops_) {
    if (!loop->crashed()) loop->crash();
  }
}

bool SimWorld::round() {
  const size_t count = loops_.size();
  const size_t first = count > 1 ? random_.below(count) : 0;
  bool worked = false;
  for (size_t i = 0; i < count; ++i) {
    if (loops_[(first + i) % count]->turn()) worked = true;
  }
  return worked;
}

bool SimWorld::advance_to(int64_t limit_us) {
  int64_t due_us = INT64_MAX;
  for (const auto& loop : loops_) {
    if (!loop->crashed()) due_us = std::min(due_us, loop->timers_.next_due_us());
  }
  if (due_us > limit_us) return false;
  clock_.advance_us(std::max<int64_t>(0, due_us - now_us()));
  return true;
}

void SimWorld::run_until_idle() {
  for (uint64_t rounds = 0; round(); ++rounds) {
    CHECK(rounds < kMaxRoundsAtOneTime, "the simulated world runs in circles at {} us", now_us());
  }
}

void SimWorld::run_for_us(int64_t us) {
  const int64_t end_us = now_us() + us;
  do run_until_idle();
  while (advance_to(end_us));
  clock_.advance_us(end_us - now_us());
}

bool SimWorld::run_until(const std::function<bool()>& done, int64_t max_us) {
  const int64_t end_us = now_us() + max_us;
  uint64_t rounds = 0;
  while (!done()) {
    if (round()) {
      CHECK(++rounds < kMaxRoundsAtOneTime, "the simulated world runs in circles at {} us",
            now_us());
      continue;
    }
    rounds = 0;
    if (done()) return true;
    if (!advance_to(end_us)) return false;
  }
  return true;
}

void SimWorld::block_on(Loop& loop, Async<void> work) {
  bool finished = false;
  spawn(loop.executor(), detail::run_into(std::move(work), finished));
  const bool done = run_until([&] { return finished; });
  CHECK(done, "the simulated world went idle at {} us, or ran {} us, before the work was done",
        now_us(), kMaxBlockUs);
}

}  // namespace cellar
