// What an operator may set about splitting, merging and moving tablets.
#pragma once

#include <cstdint>

namespace cellar::engine {

struct BalanceOptions {
  // Off: tablets change only when an operator says so.
  bool enabled = true;
  // How often the shards are looked at. 10 ms to 1 h; longer by itself where tablets are many.
  int64_t interval_us = 1'000'000;
  // A tablet that holds this is split. 1 MiB to 1 TiB.
  uint64_t split_bytes = 1u << 30;
  // A table with fewer tablets than there are shards is split once it holds this, or is asked so
  // many requests a second. 64 KiB to 1 TiB; 1 to 1,000,000,000.
  uint64_t early_split_bytes = 32u << 20;
  uint32_t early_split_load = 2000;
  // A tablet whose data is all gone, and which nobody has asked for this long, is merged with a
  // neighbour. 1 s to 365 d.
  int64_t merge_idle_us = 600'000'000;
  // Splits, merges and moves together. 1 to 6000.
  uint32_t per_minute = 120;
};

}  // namespace cellar::engine
