// The entry of libFuzzer; the build selects the target.
//   table_fuzz --seeds DIR    writes the seeds to DIR
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

#include "io/base/log.h"
#include "tests/fuzz/fuzz_target.h"

namespace cellar::fuzz {
namespace {

int write_seeds(const std::string& directory) {
  const std::vector<std::string> seeds = CELLAR_FUZZ_TARGET.seeds();
  for (size_t i = 0; i < seeds.size(); ++i) {
    std::ofstream out(fmt::format("{}/seed-{:03}", directory, i), std::ios::binary);
    if (!(out << seeds[i])) {
      fmt::print(stderr, "{} cannot be written to\n", directory);
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace cellar::fuzz

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  cellar::set_log_level(cellar::LogLevel::off);
  if (*argc == 3 && std::string_view((*argv)[1]) == "--seeds")
    std::exit(cellar::fuzz::write_seeds((*argv)[2]));
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cellar::fuzz::CELLAR_FUZZ_TARGET.run({reinterpret_cast<const char*>(data), size});
  return 0;
}
