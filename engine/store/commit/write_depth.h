// WriteDepth: how many small writes of a log may be in flight, adapted to the device.
//
// With one write at a time, an append waits on average for half of a device write before its own
// write begins. Overlapping writes shorten that wait, but each takes longer on a device that
// carries out one after the other. The waits are therefore measured. The wait of a write is half of
// the time in which its batch was filled plus the time of the device. The depth with the least mean
// wait is in use; every kTrialUs another depth is tried for kSamples writes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace cellar::engine {

class WriteDepth {
 public:
  static constexpr std::array<size_t, 3> kDepths = {1, 2, 4};
  static constexpr int64_t kTrialUs = 1'000'000;
  static constexpr size_t kSamples = 16;
  // Another depth is taken when its mean wait is below this part of the present one's.
  static constexpr double kBetter = 0.93;

  size_t limit() const { return kDepths[used_]; }
  // A batch was opened: the token of note().
  uint32_t begin() const { return generation_; }
  // The batch was filled for `filled_us`, and its write took `wrote_us`.
  void note(uint32_t begun, int64_t filled_us, int64_t wrote_us, int64_t now_us);

 private:
  void use(size_t depth, int64_t now_us);
  void choose(int64_t now_us);

  size_t best_ = 1;  // index into kDepths
  size_t used_ = 1;  // another one during a trial
  size_t next_ = 2;  // of the next trial
  uint32_t generation_ = 0;
  int64_t since_us_ = 0;
  double sum_us_ = 0;
  size_t samples_ = 0;
  double best_us_ = 0;  // mean wait of best_ before the trial
};

}  // namespace cellar::engine
