// Clocks. Nobody outside io/base asks the operating system for the time: a Clock is injected.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace cellar {

// Two readings of the machine. Callable from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  // Microseconds since the Unix epoch (UTC), as the operating system believes; may jump either way.
  virtual int64_t wall_us() const = 0;
  // Microseconds since boot, suspends included; never goes back within a boot.
  virtual int64_t boot_us() const = 0;
  // Names the life of the kernel that boot_us() counts from; empty when it is not known.
  virtual std::string boot_id() const { return {}; }
  // The kernel says that something (NTP, PTP) keeps its wall clock right.
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

// Set by tests and by simulations. One thread.
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
  // Another life of the kernel, or the same one gone on.
  void set_boot(std::string id, int64_t boot_us) { boot_id_ = std::move(id), boot_us_ = boot_us; }

 private:
  int64_t wall_us_;
  int64_t boot_us_;
  std::string boot_id_ = "simulated";
  bool synchronised_ = true;
};

}  // namespace cellar
