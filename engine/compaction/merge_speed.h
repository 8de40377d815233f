// MergeSpeed: the time that the merges of a shard take per byte read, without pauses and waiting.
#pragma once

#include <cstdint>

namespace cellar::engine {

class MergeSpeed {
 public:
  // Before the first merge: 100 MB/s.
  static constexpr double kFirstUsPerByte = 0.01;

  void learn(int64_t worked_us, uint64_t bytes) {
    if (bytes == 0 || worked_us == 0) return;
    const double per_byte = static_cast<double>(worked_us) / static_cast<double>(bytes);
    us_per_byte_ = us_per_byte_ == 0 ? per_byte : (us_per_byte_ + per_byte) / 2;
  }
  bool has_learned() const { return us_per_byte_ > 0; }
  double us_per_byte() const { return has_learned() ? us_per_byte_ : kFirstUsPerByte; }

 private:
  double us_per_byte_ = 0;
};

}  // namespace cellar::engine
