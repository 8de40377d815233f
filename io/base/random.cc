#include "io/base/random.h"

#include <sys/random.h>

#include "io/base/check.h"

namespace cellar {

uint64_t entropy_seed() {
  uint64_t seed = 0;
  const ssize_t n = getrandom(&seed, sizeof seed, 0);
  CHECK(n == sizeof seed, "getrandom answered {}", n);
  return seed;
}

}  // namespace cellar
