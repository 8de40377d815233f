// BalanceView: all that is known when it is decided how tablets should lie. Plain values, so that a
// decision can be tested without a node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/catalog/table_map.h"

namespace cellar::engine {

struct TabletLoad {
  TabletDescriptor tablet;
  uint64_t bytes = 0;
  double load = 0;        // requests a second, smoothed
  int64_t idle_us = 0;    // since the last request that was seen
  bool settling = false;  // it was moved a short while ago: no move
  bool refused = false;   // a change was refused a short while ago: nothing
  bool has_held_data = false;
  std::vector<std::string> sampled_rows;  // rows lately asked for; a row may come several times

  bool empty() const { return bytes == 0; }
};

struct BalanceView {
  uint32_t shards = 1;
  std::vector<TabletLoad> tablets;  // by table, then start
  // For how long the load of the shards has been out of balance without a break (is_imbalanced).
  int64_t imbalanced_us = 0;
  uint32_t changes_left = 0;  // of BalanceOptions::per_minute
};

struct Reshape {
  enum class Kind : uint8_t { split, merge, move };
  Kind kind = Kind::move;
  TabletId tablet;       // of a merge the left one
  TabletId right;        // merge
  std::string row;       // split: where; empty: the engine chooses
  ShardId to;            // move
  const char* why = "";  // for the log
};

}  // namespace cellar::engine
