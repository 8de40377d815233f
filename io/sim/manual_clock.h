// ManualClock: a clock that is set by its owner.
#pragma once

#include <utility>

#include "io/base/clock.h"

namespace cellar {

// Single-threaded.
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
