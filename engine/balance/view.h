// BalanceView: the input of a balancing decision. Plain values, so that decisions can be tested
// without a node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/catalog/table_map.h"

namespace cellar::engine {

struct TabletLoad {
  TabletDescriptor tablet;
  uint64_t bytes = 0;
  double load = 0;              // requests per second, smoothed
  int64_t idle_us = 0;          // since the last request seen
  bool moved_recently = false;  // moved recently: must not move
  bool refused = false;         // a change was refused recently: no change
  bool has_held_data = false;
  std::vector<std::string> sampled_rows;  // rows recently requested; may repeat

  bool empty() const { return bytes == 0; }
};

struct BalanceView {
  uint32_t shards = 1;
  std::vector<TabletLoad> tablets;  // sorted by table, then start
  // How long the load of the shards has been continuously out of balance (is_imbalanced).
  int64_t imbalanced_us = 0;
  uint32_t changes_left = 0;  // of BalanceOptions::per_minute
};

struct Reshape {
  enum class Kind : uint8_t { split, merge, move };
  Kind kind = Kind::move;
  TabletId tablet;       // of a merge: the left one
  TabletId right;        // of a merge
  std::string row;       // of a split; empty: the engine chooses
  ShardId to;            // of a move
  const char* why = "";  // for the log
};

}  // namespace cellar::engine
