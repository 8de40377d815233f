// Plan: what a simulation does, drawn from its seed. Each seed has a random half of the features,
// so that rare ones meet, and none hides what another would show.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/types.h"
#include "io/base/result.h"
#include "tests/simulation/row_machine.h"

namespace cellar::simulation {

// The name is what --off and CELLAR_SIM_OFF know.
enum class Feature : uint8_t {
  batches,        // MutateRows
  conditions,     // CheckAndMutateRow
  modifications,  // ReadModifyWriteRow
  range_drops,    // DropRowRange
  expiries,       // ttl, expire_at
  scans,          // ReadRows, held open
  weak,           // levels below sync
  jitter,         // a slow network
  cuts,           // connections break
  half_open,      // connections fall silent
  refusals,       // connecting fails
  power,          // the machine loses power amid work
  kills,          // the process is killed amid work
  stops,          // orderly restarts
  restarts,       // another crash amid the recovery
  disk_errors,
  disk_hangs,
  disk_full,
  disk_slow,
  wall_jumps,
  boots,     // the boot clock starts again, the kernel may not be synchronised
  reshapes,  // splits, merges, moves
  balancer,
  flushes,
  rules,        // changes of rules and undo
  drop_tables,  // and restores
  drop_families,
  shards,       // another number at each start
  backups,      // taken, verified, pruned, restored
  mixed_rules,  // a family whose rules have an age and a number of versions
  kCount,
};
inline constexpr size_t kFeatures = static_cast<size_t>(Feature::kCount);
std::string_view feature_name(Feature feature);

struct Plan {
  uint64_t seed = 1;
  uint64_t features = 0;  // a bit each
  uint32_t beats = 0;     // bursts of work
  uint32_t clients = 0;   // 3 to 8
  uint32_t requests = 0;  // of a client in a beat
  uint32_t rows = 0;      // of a table
  uint32_t tables = 0;    // 1 or 2
  Granularity granularity = Granularity::micros;
  std::vector<FamilyPlan> families;

  static Plan of(uint64_t seed);
  bool has(Feature feature) const { return (features >> static_cast<size_t>(feature) & 1) != 0; }
  void turn_off(Feature feature);
  // Names separated by commas. INVALID_ARGUMENT names the unknown one.
  Result<void> turn_off(std::string_view names);
  // The options of `simulate`, and of the environment, that repeat it.
  std::string options() const;
  std::string environment() const;
  std::string described() const;  // one line
};

// From the options that options() writes. INVALID_ARGUMENT names the unknown word.
Result<Plan> plan_from_options(std::string_view line);
// From CELLAR_SIM_OFF, CELLAR_SIM_BEATS and CELLAR_SIM_CLIENTS.
Result<Plan> plan_from_environment(uint64_t seed);

}  // namespace cellar::simulation
