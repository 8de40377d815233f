// CellBrowser: a few rows of a table with the fate of every version, for people. Bounded in cells,
// bytes and time; what does not fit is asked for again behind the last row.
#pragma once

#include <string>
#include <vector>

#include "engine/model/read_spec.h"
#include "net/server/shard/shard_server.h"

namespace cellar::http {

struct BrowseRequest {
  std::string table;
  std::string prefix;        // of the row keys; empty: all
  std::string after;         // rows behind this one; empty: from the first
  size_t cells = 200;        // at most kMaxBrowsedCells
  bool include_dead = true;  // also what is dead and not reclaimed yet
};

inline constexpr size_t kMaxBrowsedCells = 1000;
inline constexpr size_t kMaxBrowsedBytes = 1u << 20;
inline constexpr size_t kShownValueBytes = 256;  // of each value
inline constexpr int64_t kMaxBrowseUs = 3'000'000;

struct BrowsedCell {
  std::string row;
  std::string family;
  std::string qualifier;
  std::string value;  // the first kShownValueBytes
  size_t value_bytes = 0;
  std::string label;
  int64_t timestamp_us = 0;
  CellNote note;
};

struct BrowsedCells {
  std::vector<BrowsedCell> cells;
  bool more = false;   // there are rows behind the last one, or it is not complete
  int64_t now_us = 0;  // trusted: as of when
};

// On the shard that asks. NOT_FOUND.
Async<Result<BrowsedCells>> browse(server::ShardServer& shard, BrowseRequest request);

}  // namespace cellar::http
