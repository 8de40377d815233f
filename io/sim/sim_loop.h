// SimWorld: any number of loops on one thread and one virtual clock, for tests that repeat exactly.
//
// Time stands still while anything is ready; when nothing is, it jumps to the next timer of any
// loop. The order in which loops take their turns is drawn from the seed, so another seed tries
// another interleaving, and the same seed runs the same way.
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
#include "io/base/clock.h"
#include "io/base/random.h"
#include "io/loop/loop.h"
#include "io/loop/shard_loop.h"

namespace cellar {

class SimWorld;

// Timers on the world's clock, in order of deadline, then of arming. Granularity: a microsecond.
class SimTimers final : public Timers {
 public:
  explicit SimTimers(const ManualClock& clock) : clock_(clock) {}
  ~SimTimers() override;
  int64_t now_us() const override { return clock_.boot_us(); }
  void arm(Timer& timer, int64_t deadline_us) override;
  void cancel(Timer& timer) override;

  size_t fire_due();
  int64_t next_due_us() const;  // INT64_MAX when none is armed

 private:
  const ManualClock& clock_;
  std::multimap<int64_t, Timer*> armed_;
};

class SimLoop final : public Loop {
 public:
  explicit SimLoop(const ManualClock& clock) : timers_(clock) {}
  ~SimLoop() override;
  Timers& timers() override { return timers_; }

  // The power fails: every coroutine suspended on this loop is destroyed and the loop is of no
  // further use. Do it while what those coroutines refer to still exists; not from inside a turn.
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
  // Both readings pass together; a test may make the wall jump (set_wall_us).
  ManualClock& clock() { return clock_; }
  Random& random() { return random_; }
  int64_t now_us() const { return clock_.boot_us(); }

  // Until nothing is ready at this moment of virtual time.
  void run_until_idle();
  // Until `us` of virtual time have passed.
  void run_for_us(int64_t us);
  // Until the predicate holds; false when the world went idle for good, or max_us have passed.
  bool run_until(const std::function<bool()>& done, int64_t max_us = kMaxBlockUs);
  // Crashes every loop: see SimLoop::crash().
  void crash();

  // Runs the world until `work` on `loop` is done. CHECKs that it does finish: that the world does
  // not go idle before, nor kMaxBlockUs pass.
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
  bool round();                       // one turn of every loop; true when any did work
  bool advance_to(int64_t limit_us);  // to the next timer at or before the limit

  ManualClock clock_;
  Random random_;
  std::vector<std::unique_ptr<SimLoop>> loops_;
};

}  // namespace cellar
