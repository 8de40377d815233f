// Runs a fuzz target without libFuzzer: its seeds, then mutated and random input for a second.
//   fuzz_smoke TARGET [SEED]
#include <fmt/format.h>

#include <cstdlib>

#include "io/base/clock.h"
#include "io/base/log.h"
#include "io/base/random.h"
#include "tests/fuzz/fuzz_target.h"

namespace cellar::fuzz {
namespace {

constexpr int64_t kRunUs = 1'000'000;
const FuzzTarget* const kTargets[] = {&kWireTarget,  &kReplyTarget, &kStoredTarget, &kLogTarget,
                                      &kTableTarget, &kTextTarget,  &kSessionTarget};

std::string bent(const std::vector<std::string>& seeds, Random& random) {
  std::string input = seeds[random.below(seeds.size())];
  for (uint64_t i = random.below(3); i > 0; --i) input += seeds[random.below(seeds.size())];
  for (uint64_t i = random.below(8); i > 0 && !input.empty(); --i) {
    input[random.below(input.size())] = static_cast<char>(random.next());
  }
  if (random.one_in(4)) input.resize(random.below(input.size() + 1));
  if (random.one_in(16)) {
    for (char& c : input) c = static_cast<char>(random.next());
  }
  return input;
}

void run_for_a_second(const FuzzTarget& target, uint64_t seed) {
  fmt::print("{} seed {}\n", target.name, seed);
  Random random(seed);
  const std::vector<std::string> seeds = target.seeds();
  for (const std::string& input : seeds) target.run(input);
  const SystemClock clock;
  const int64_t until_us = clock.boot_us() + kRunUs;
  uint64_t runs = 0;
  for (; clock.boot_us() < until_us; ++runs) target.run(bent(seeds, random));
  fmt::print("{} inputs\n", runs);
}

int usage() {
  fmt::print(stderr, "usage: fuzz_smoke TARGET [SEED]\n");
  return 2;
}

int run(const std::vector<std::string>& words) {
  if (words.empty() || words.size() > 2) return usage();
  set_log_level(LogLevel::off);
  for (const FuzzTarget* target : kTargets) {
    if (target->name != words[0]) continue;
    run_for_a_second(
        *target, words.size() == 2 ? std::strtoull(words[1].c_str(), nullptr, 10) : entropy_seed());
    return 0;
  }
  return usage();
}

}  // namespace
}  // namespace cellar::fuzz

int main(int argc, char** argv) {
  return cellar::fuzz::run(std::vector<std::string>(argv + 1, argv + argc));
}
