// Distributions of key numbers, as YCSB defines them.
#pragma once

#include <cstdint>

#include "io/base/random.h"

namespace cellar::bench {

// YCSB's hash of a key number: FNV-1a of its 8 bytes, as a non-negative number of 63 bits.
uint64_t fnv_hash(uint64_t number);

// The sum of 1 / i^theta for i in 1..items. Exact to 1e-12: the first terms are added, the rest is
// the integral with the corrections of Euler and Maclaurin.
double zeta(uint64_t items, double theta);

// Ranks from 0 to items - 1. The probability of rank k is proportional to 1 / (k + 1)^theta:
// exactly for the ranks 0 and 1, and by the approximation of Gray et al. (SIGMOD 1994) for the
// others.
class Zipfian {
 public:
  static constexpr double kTheta = 0.99;

  // REQUIRES: items > 0, and theta in (0, 1).
  explicit Zipfian(uint64_t items, double theta = kTheta);

  uint64_t draw(Random& random) const;
  // Adds items at the end. Costs a power per new item.
  void grow(uint64_t items);
  uint64_t items() const { return items_; }
  double zeta_of_items() const { return zeta_; }

 private:
  void settle();

  uint64_t items_;
  double theta_;
  double zeta_;
  double alpha_ = 0;
  double eta_ = 0;
};

// Popular keys spread over the whole range: a Zipfian rank of kItems items, hashed into `keys`.
class ScrambledZipfian {
 public:
  static constexpr uint64_t kItems = 10'000'000'000;

  explicit ScrambledZipfian(double theta = Zipfian::kTheta) : ranks_(kItems, theta) {}
  uint64_t draw(Random& random, uint64_t keys) const {
    return fnv_hash(ranks_.draw(random)) % keys;
  }

 private:
  Zipfian ranks_;
};

// Newer keys are more popular: the distance from the newest is Zipfian.
class Latest {
 public:
  explicit Latest(uint64_t keys, double theta = Zipfian::kTheta) : distance_(keys, theta) {}
  // `keys` exist; it does not fall between two calls.
  uint64_t draw(Random& random, uint64_t keys) {
    distance_.grow(keys);
    return keys - 1 - distance_.draw(random);
  }

 private:
  Zipfian distance_;
};

// `hot_share` of the draws are uniform in the first `hot_set` of the keys, the others uniform in
// the rest.
uint64_t draw_hot_spot(Random& random, uint64_t keys, double hot_set, double hot_share);

}  // namespace cellar::bench
