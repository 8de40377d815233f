// MovableClock: the clocks of a node whose user moves the time. They run or stand, and jump.
//
// Callable from any thread. An instance may lie in memory that two processes share.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "io/base/clock.h"

namespace cellar::sandbox {

class MovableClock : public Clock {
 public:
  // Both clocks stand at these readings, in microseconds.
  MovableClock(int64_t wall_us, int64_t boot_us, std::string boot_id = "sandbox")
      : wall_us_(wall_us), boot_us_(boot_us), boot_id_(std::move(boot_id)) {}

  // They run, and read what they were constructed with when the machine's boot-time clock reads
  // `monotonic_us`. -1: they stand. Before others use the clock.
  void run_since(int64_t monotonic_us) { since_us_ = monotonic_us; }
  bool stands() const { return since_us_ < 0; }
  static int64_t monotonic_us() { return SystemClock().boot_us(); }

  int64_t wall_us() const override { return wall_us_.load() + passed_us(); }
  int64_t boot_us() const override { return boot_us_.load() + passed_us(); }
  std::string boot_id() const override { return boot_id_; }
  void set_boot_id(std::string id) { boot_id_ = std::move(id); }

  // Time passes, for both clocks. REQUIRES: us >= 0.
  void advance(int64_t us) {
    boot_us_ += us;
    wall_us_ += us;
  }
  // A jump of the wall clock alone, as of one that was wrong.
  void set_wall(int64_t us) { wall_us_ = us - passed_us(); }
  void set_boot(int64_t us) { boot_us_ = us - passed_us(); }

 private:
  int64_t passed_us() const { return since_us_ < 0 ? 0 : monotonic_us() - since_us_; }

  std::atomic<int64_t> wall_us_;
  std::atomic<int64_t> boot_us_;
  int64_t since_us_ = -1;
  std::string boot_id_;
};

}  // namespace cellar::sandbox
