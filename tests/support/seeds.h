// The seeds of random tests. CI uses the same few each time, so that a failure is caused by a
// change; more on request: CELLAR_ROUNDS=20 plays twenty times as many, CELLAR_SEED=n plays only
// that one (as printed by a failure).
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace cellar {

inline uint64_t number_from_environment(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::stoull(text);
}

inline std::vector<uint64_t> test_seeds(uint64_t count) {
  if (std::getenv("CELLAR_SEED") != nullptr) return {number_from_environment("CELLAR_SEED", 1)};
  std::vector<uint64_t> seeds;
  for (uint64_t seed = 1; seed <= count * number_from_environment("CELLAR_ROUNDS", 1); ++seed)
    seeds.push_back(seed);
  return seeds;
}

}  // namespace cellar
