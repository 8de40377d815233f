// The processor time and memory of a process on this machine, from /proc.
#pragma once

#include <optional>

#include "bench/load/generator.h"

namespace cellar::bench {

// Since its start. `pid` 0: this process. Empty if there is no such process.
std::optional<ProcessUse> process_use(int pid);

}  // namespace cellar::bench
