// Options of automatic splits, merges and moves of tablets.
#pragma once

#include <cstdint>

namespace cellar::engine {

struct BalanceOptions {
  // Off: tablets change only on an operator's request.
  bool enabled = true;
  // Interval of the balancer. 10 ms to 1 h; grows with the number of tablets.
  int64_t interval_us = 1'000'000;
  // Size at which a tablet is split. 1 MiB to 1 TiB.
  uint64_t split_bytes = 1u << 30;
  // Size, or requests per second, at which a table with fewer tablets than shards is split. 64 KiB
  // to 1 TiB; 1 to 1,000,000,000.
  uint64_t early_split_bytes = 32u << 20;
  uint32_t early_split_load = 2000;
  // A tablet that has lost all its data is merged with a neighbour after this long without
  // requests. 1 s to 365 d.
  int64_t merge_idle_us = 600'000'000;
  // Splits, merges and moves in total. 1 to 6000.
  uint32_t per_minute = 120;
};

}  // namespace cellar::engine
