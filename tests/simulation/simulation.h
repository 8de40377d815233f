// A whole-node simulation: one seed, one thread. Clients and an operator work on a node in beats
// while the network, the disk, the clocks and the power fail as the plan says; then the histories
// of all rows are checked.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tests/simulation/history.h"
#include "tests/simulation/plan.h"

namespace cellar::simulation {

struct Outcome {
  std::optional<std::string> problem;
  Checked checked;
  uint64_t crashes = 0, starts = 0;
  int64_t simulated_us = 0;
  std::map<std::string, uint64_t> answers;  // by verb and code
};

Outcome simulate(const Plan& plan);

}  // namespace cellar::simulation
