// Clocks. Only io/base reads the operating system's time; other code receives a Clock.
#pragma once

#include <cstdint>
#include <string>

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

}  // namespace cellar
