// SimWorld: any number of loops on one thread and one virtual clock, for repeatable tests.
//
// Time does not advance while a loop has work; then it jumps to the next timer of any loop. The
// seed determines the order of turns: another seed tries another interleaving, the same seed
// repeats the run.
//
//   SimWorld world(seed);
//   SimLoop& a = world.add_loop();
//   Result<int> r = world.block_on(a, f());       // virtual time passes as needed
//   world.run_for_us(5'000'000);
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "io/base/check.h"
#include "io/base/random.h"
#include "io/loop/loop.h"
#include "io/loop/shard_loop.h"
#include "io/sim/manual_clock.h"

namespace cellar {

class SimWorld;

// Timers on the world's clock, ordered by deadline, then by arming. Granularity: a microsecond.
class SimTimers final : public Timers {
 public:
  explicit SimTimers(const ManualClock& clock) : clock_(clock) {}
  ~SimTimers() override;
  int64_t now_us() const override { return clock_.boot_us(); }
  void arm(Timer& timer, int64_t deadline_us) override;
  void cancel(Timer& timer) override;

  size_t fire_due();
  int64_t next_due_us() const;  // INT64_MAX if none is armed

 private:
  const ManualClock& clock_;
  std::multimap<int64_t, Timer*> armed_;
};

class SimLoop final : public Loop {
 public:
  explicit SimLoop(const ManualClock& clock) : timers_(clock) {}
  ~SimLoop() override;
  Timers& timers() override { return timers_; }

  // Simulates a power failure: destroys every coroutine suspended on this loop; the loop is
  // unusable afterwards. Call it while the objects those coroutines refer to still exist, and not
  // inside a turn.
  void crash();
  bool crashed() const { return crashed_; }

 private:
  friend class SimWorld;
  bool turn();

  SimTimers timers_;
  bool crashed_ = false;
};

class SimWorld {
 public:
  static constexpr int64_t kStartWallUs = 1'700'000'000'000'000;
  static constexpr int64_t kMaxBlockUs = int64_t{3'600} * 1'000'000;

  explicit SimWorld(uint64_t seed = 1);
  ~SimWorld();
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;

  SimLoop& add_loop();  // lives as long as the world
  // Both readings advance together; a test may make the wall clock jump (set_wall_us).
  ManualClock& clock() { return clock_; }
  const ManualClock& clock() const { return clock_; }
  Random& random() { return random_; }
  int64_t now_us() const { return clock_.boot_us(); }

  // Runs until no loop has work at the present virtual time.
  void run_until_idle();
  // Runs until `us` of virtual time have passed.
  void run_for_us(int64_t us);
  // Runs until the predicate holds. False if the world has become idle permanently or max_us have
  // passed.
  bool run_until(const std::function<bool()>& done, int64_t max_us = kMaxBlockUs);
  // Crashes every loop: see SimLoop::crash().
  void crash();

  // Runs the world until `work` on `loop` is done. CHECKs that it finishes before the world becomes
  // idle and within kMaxBlockUs.
  template <class T>
  T block_on(Loop& loop, Async<T> work) {
    std::optional<T> result;
    spawn(loop.executor(), detail::run_into(std::move(work), result));
    const bool done = run_until([&] { return result.has_value(); });
    CHECK(done, "the simulated world went idle at {} us, or ran {} us, before the work was done",
          now_us(), kMaxBlockUs);
    return std::move(*result);
  }
  void block_on(Loop& loop, Async<void> work);

 private:
  bool round();                       // one turn of every loop; true if any did work
  bool advance_to(int64_t limit_us);  // to the next timer at or before the limit

  ManualClock clock_;
  Random random_;
  std::vector<std::unique_ptr<SimLoop>> loops_;
};

}  // namespace cellar
