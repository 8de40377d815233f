// The fuzz targets without libFuzzer: the seeds of one, then bent and random input for a second.
//   fuzz_smoke TARGET [SEED]
//   fuzz_smoke TARGET --seeds DIR    writes the seeds there, for libFuzzer to start from
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

#include "io/base/clock.h"
#include "io/base/log.h"
#include "io/base/random.h"
#include "tests/fuzz/fuzz_target.h"

namespace cellar::fuzz {
namespace {

constexpr int64_t kRunUs = 1'000'000;

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

int write_seeds(const std::vector<std::string>& seeds, const std::string& directory) {
  for (size_t i = 0; i < seeds.size(); ++i) {
    std::ofstream out(fmt::format("{}/seed-{:03}", directory, i), std::ios::binary);
    if (!(out << seeds[i])) {
      fmt::print(stderr, "fuzz_smoke: {} cannot be written to\n", directory);
      return 1;
    }
  }
  return 0;
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
  fmt::print(stderr, "usage: fuzz_smoke TARGET [SEED | --seeds DIR]\n");
  return 2;
}

int run(const std::vector<std::string>& words) {
  if (words.empty()) return usage();
  set_log_level(LogLevel::off);
  for (const FuzzTarget* target : fuzz_targets()) {
    if (target->name != words[0]) continue;
    if (words.size() == 3 && words[1] == "--seeds") return write_seeds(target->seeds(), words[2]);
    if (words.size() > 2) return usage();
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
