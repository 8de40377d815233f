// Runs a fuzz target without libFuzzer: its seeds and its corpus (corpus/TARGET), then mutated and
// random input for a second.
//   fuzz_smoke TARGET [SEED]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "io/base/check.h"
#include "io/base/clock.h"
#include "io/base/log.h"
#include "io/base/random.h"
#include "tests/fuzz/fuzz_target.h"

namespace cellar::fuzz {
namespace {

constexpr int64_t kRunUs = 1'000'000;
const FuzzTarget* const kTargets[] = {
    &kWireTarget,   &kReplyTarget, &kStoredTarget,  &kLogTarget,  &kTableTarget,
    &kBackupTarget, &kTextTarget,  &kSessionTarget, &kHttpTarget, &kTlsTarget};

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

// In the order of their names, so that a seed repeats a run.
std::vector<std::string> corpus_of(std::string_view target) {
  namespace fs = std::filesystem;
  std::vector<fs::path> paths;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fs::path(CELLAR_FUZZ_CORPUS) / target, error))
    paths.push_back(entry.path());
  CHECK(!paths.empty(), "{}/{} has no inputs", CELLAR_FUZZ_CORPUS, target);
  std::ranges::sort(paths);
  std::vector<std::string> inputs;
  for (const fs::path& path : paths) {
    std::ifstream in(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    CHECK(!in.bad(), "{} cannot be read", path.string());
  }
  return inputs;
}

void run_for_a_second(const FuzzTarget& target, uint64_t seed) {
  fmt::print("{} seed {}\n", target.name, seed);
  Random random(seed);
  std::vector<std::string> seeds = target.seeds();
  std::ranges::move(corpus_of(target.name), std::back_inserter(seeds));
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
