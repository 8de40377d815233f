// Clocks. Nobody outside io/base asks the operating system for the time: a Clock is injected.
#pragma once

#include <cstdint>

namespace cellar {

// Two readings of the machine. Callable from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  // Microseconds since the Unix epoch (UTC), as the operating system believes; may jump either way.
  virtual int64_t wall_us() const = 0;
  // Microseconds since boot, suspends included; never goes back within a boot.
  virtual int64_t boot_us() const = 0;
};

// CLOCK_REALTIME and CLOCK_BOOTTIME.
class SystemClock final : public Clock {
 public:
  int64_t wall_us() const override;
  int64_t boot_us() const override;
};

// Set by tests and by simulations. One thread.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(int64_t wall_us = 0, int64_t boot_us = 0)
      : wall_us_(wall_us), boot_us_(boot_us) {}
  int64_t wall_us() const override { return wall_us_; }
  int64_t boot_us() const override { return boot_us_; }
  void advance_us(int64_t by_us) { wall_us_ += by_us, boot_us_ += by_us; }  // time passes
  void set_wall_us(int64_t to_us) { wall_us_ = to_us; }                     // the wall clock jumps

 private:
  int64_t wall_us_;
  int64_t boot_us_;
};

// The trusted clock of SEMANTICS 3: a lower bound of real time. It follows the wall clock, never
// runs faster than the boot-time clock (plus 500 ppm) since its anchor, and never goes back. One
// per shard, one thread.
//
// Invariants: (1) now_us() never decreases; (2) it is never later than its anchor plus the boot
// time that passed since then plus 500 ppm. What is not here yet: the durable anchor that carries
// (1) and (2) over a restart.
class TrustedClock {
 public:
  static constexpr int64_t kDriftPpm = 500;

  // `clock` must outlive this. The wall clock is believed once, at construction; `floor_us` is a
  // reading that must not be undercut (the last commit stamp found on disk).
  explicit TrustedClock(const Clock& clock, int64_t floor_us = 0);

  int64_t now_us();
  // Raises the bound below which now_us() may not fall.
  void raise_floor_us(int64_t floor_us);
  // How far the wall clock is ahead of trusted time: held time.
  int64_t held_us();

 private:
  const Clock& clock_;
  int64_t anchor_us_;
  int64_t anchor_boot_us_;
  int64_t last_us_;
};

}  // namespace cellar
