// The tablets of one table for the rules: sums over the table, and the shards of its tablets.
#pragma once

#include <span>
#include <vector>

#include "engine/balance/options.h"
#include "engine/balance/view.h"

namespace cellar::engine {

struct TableView {
  std::span<const TabletLoad> tablets;  // sorted by start
  uint64_t bytes = 0;
  double load = 0;

  uint32_t on(ShardId shard) const;
  bool is_loaded(const BalanceOptions& options) const { return load >= options.early_split_load; }
  // Large or busy enough to be served by every shard.
  bool wants_spread(const BalanceOptions& options) const {
    return bytes >= options.early_split_bytes || is_loaded(options);
  }
};

// The tables of the view, in its order; they refer to it.
std::vector<TableView> tables_of(const BalanceView& view);

// Sums by shard.
struct ShardSums {
  explicit ShardSums(const BalanceView& view);
  std::vector<double> load;
  std::vector<double> bytes;

  double load_on(ShardId shard) const { return load[shard.value()]; }
};
ShardId most(const std::vector<double>& of_shards);
ShardId least(const std::vector<double>& of_shards);
double mean(const std::vector<double>& of_shards);

}  // namespace cellar::engine
