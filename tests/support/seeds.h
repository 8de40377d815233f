// Which seeds a random test plays. In CI the same few each time, so that a failure is a change's; a
// person who wants more says so: CELLAR_ROUNDS=20 plays twenty times as many, CELLAR_SEED=n plays
// that one alone (what a failure prints).
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
