// The parameters of a run: its operations, keys and values. Deterministic from a seed.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "io/base/random.h"

namespace cellar::bench {

enum class Distribution { uniform, zipf, sequential };

struct Workload {
  double read_share = 0;  // 0: writes only, 1: reads only
  uint64_t keys = 1'000'000;
  size_t value_bytes = 100;
  Distribution distribution = Distribution::uniform;
  uint64_t seed = 1;
};

// Draws key numbers. Zipf is YCSB's scrambled one with constant 0.99, by the method of Gray et al.
// (SIGMOD 1994).
class KeyChooser {
 public:
  KeyChooser(const Workload& workload, uint64_t stream)
      : workload_(workload), random_(workload.seed * 1'000'003 + stream), next_(stream) {
    if (workload_.distribution != Distribution::zipf) return;
    const double n = static_cast<double>(workload_.keys);
    // After the first terms the harmonic sum is approximated by its integral: exact to 1e-4 for the
    // sizes in use.
    constexpr uint64_t kExact = 10'000;
    for (uint64_t i = 1; i <= std::min(workload_.keys, kExact); ++i)
      zeta_ += 1 / std::pow(static_cast<double>(i), kTheta);
    if (workload_.keys > kExact) {
      zeta_ += (std::pow(n, 1 - kTheta) - std::pow(static_cast<double>(kExact), 1 - kTheta)) /
               (1 - kTheta);
    }
    alpha_ = 1 / (1 - kTheta);
    const double zeta2 = 1 + 1 / std::pow(2.0, kTheta);
    eta_ = (1 - std::pow(2 / n, 1 - kTheta)) / (1 - zeta2 / zeta_);
  }

  uint64_t next() {
    switch (workload_.distribution) {
      case Distribution::uniform:
        return random_.below(workload_.keys);
      case Distribution::sequential:
        return next_++ % workload_.keys;
      case Distribution::zipf:
        return scramble(zipf_rank()) % workload_.keys;
    }
    return 0;
  }
  bool is_read() {
    return workload_.read_share >= 1 ||
           (workload_.read_share > 0 && random_.unit() < workload_.read_share);
  }

 private:
  static constexpr double kTheta = 0.99;

  uint64_t zipf_rank() {
    const double u = random_.unit();
    const double uz = u * zeta_;
    if (uz < 1) return 0;
    if (uz < 1 + std::pow(0.5, kTheta)) return 1;
    return static_cast<uint64_t>(static_cast<double>(workload_.keys) *
                                 std::pow(eta_ * u - eta_ + 1, alpha_));
  }
  static uint64_t scramble(uint64_t rank) { return Random(rank).next(); }

  Workload workload_;
  Random random_;
  uint64_t next_;
  double zeta_ = 0;
  double alpha_ = 0;
  double eta_ = 0;
};

// 16 bytes that sort like the numbers.
inline std::string key_name(uint64_t number) { return fmt::format("key{:013}", number); }

}  // namespace cellar::bench
