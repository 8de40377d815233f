// Random: a seeded generator (SplitMix64). It is injected, so that a simulated run can be repeated
// from its seed.
#pragma once

#include <cstdint>

namespace cellar {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound). REQUIRES: bound > 0.
  uint64_t below(uint64_t bound) {
    return static_cast<uint64_t>((__extension__ static_cast<unsigned __int128>(next()) * bound) >>
                                 64);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  bool one_in(uint64_t n) { return below(n) == 0; }

  using result_type = uint64_t;
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return UINT64_MAX; }
  uint64_t operator()() { return next(); }

 private:
  uint64_t state_;
};

// A seed from the operating system (getrandom); the only source of entropy in Cellar.
uint64_t entropy_seed();

}  // namespace cellar
