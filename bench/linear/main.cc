// Work done n, 4n and 16n times in an embedded engine on a disk in memory, with the processor time
// of this thread for each: a ratio of 4 is linear, 16 quadratic. Rows of many versions under every
// kind of rule, with deletes and expiries among them; rows of many columns; requests of many
// mutations; filters of the greatest depth and size; many dropped ranges; many deletes in a column.
//
//   cellar-bench-linear [--only TEXT] [--rounds 3]
#include <ctime>

#include <CLI/CLI.hpp>

#include "bench/linear/bed.h"
#include "io/base/log.h"

namespace cellar::support {

double processor_ms() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}

namespace {

int run(int argc, char** argv) {
  CLI::App app("Growth of the cost of operations with their size");
  int rounds = 3;
  std::string only;
  app.add_option("--rounds", rounds, "repetitions; the minimum counts");
  app.add_option("--only", only, "what has this in its name");
  CLI11_PARSE(app, argc, argv);
  set_log_level(LogLevel::error);
  Figures figures(only, rounds);
  for (const auto& part : {costs, versions, columns, filters, deletes}) {
    Bed bed;
    part(figures, bed);
  }
  return 0;
}

}  // namespace
}  // namespace cellar::support

int main(int argc, char** argv) { return cellar::support::run(argc, argv); }
