// The fuzz target without libFuzzer: the seeds, then bent and random input for about a second.
// wire_fuzz_smoke [SEED]
#include <fmt/format.h>

#include <cstdlib>

#include "io/base/clock.h"
#include "io/base/random.h"
#include "tests/fuzz/wire_fuzz.h"

namespace {

constexpr int64_t kRunUs = 1'000'000;

void run(const std::string& input) {
  cellar::fuzz::fuzz_wire(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

std::string bent(const std::vector<std::string>& seeds, cellar::Random& random) {
  std::string input;
  for (uint64_t i = 0; i <= random.below(3); ++i) input += seeds[random.below(seeds.size())];
  for (uint64_t i = 0; i < random.below(8); ++i) {
    input[random.below(input.size())] = static_cast<char>(random.next());
  }
  if (random.one_in(4)) input.resize(random.below(input.size()));
  if (random.one_in(16)) {
    for (char& c : input) c = static_cast<char>(random.next());
  }
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : cellar::entropy_seed();
  fmt::print("wire_fuzz_smoke seed {}\n", seed);
  cellar::Random random(seed);
  const std::vector<std::string> seeds = cellar::fuzz::wire_seeds();
  for (const std::string& input : seeds) run(input);
  const cellar::SystemClock clock;
  const int64_t until_us = clock.boot_us() + kRunUs;
  uint64_t runs = 0;
  while (clock.boot_us() < until_us) {
    for (int i = 0; i < 100; ++i) run(bent(seeds, random));
    runs += 100;
  }
  fmt::print("{} inputs\n", runs);
  return 0;
}
