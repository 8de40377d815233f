// Clocks. Only io/base reads the operating system's time; other code receives a Clock.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace cellar {

// The machine's clocks. Callable from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  // Microseconds since the Unix epoch (UTC) according to the operating system; may jump in either
  // direction.
  virtual int64_t wall_us() const = 0;
  // Microseconds since boot, including suspends; monotonic within a boot.
  virtual int64_t boot_us() const = 0;
  // Identifies the boot that boot_us() counts from; empty if unknown.
  virtual std::string boot_id() const { return {}; }
  // Whether the kernel reports its wall clock as synchronised (NTP, PTP).
  virtual bool synchronised() const { return true; }
};

// CLOCK_REALTIME and CLOCK_BOOTTIME; /proc/sys/kernel/random/boot_id; adjtimex.
class SystemClock final : public Clock {
 public:
  int64_t wall_us() const override;
  int64_t boot_us() const override;
  std::string boot_id() const override;
  bool synchronised() const override;
};

// A clock set by tests and simulations. Single-threaded.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(int64_t wall_us = 0, int64_t boot_us = 0)
      : wall_us_(wall_us), boot_us_(boot_us) {}
  int64_t wall_us() const override { return wall_us_; }
  int64_t boot_us() const override { return boot_us_; }
  void advance_us(int64_t by_us) { wall_us_ += by_us, boot_us_ += by_us; }  // time passes
  void set_wall_us(int64_t to_us) { wall_us_ = to_us; }                     // the wall clock jumps
  std::string boot_id() const override { return boot_id_; }
  bool synchronised() const override { return synchronised_; }
  void set_synchronised(bool yes) { synchronised_ = yes; }
  // Simulates a reboot (another `id`) or the same boot continued.
  void set_boot(std::string id, int64_t boot_us) { boot_id_ = std::move(id), boot_us_ = boot_us; }

 private:
  int64_t wall_us_;
  int64_t boot_us_;
  std::string boot_id_ = "simulated";
  bool synchronised_ = true;
};

}  // namespace cellar
