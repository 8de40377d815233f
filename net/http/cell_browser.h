// CellBrowser: a few rows of a table with the retention state of every version, for display.
// Bounded in cells, bytes and time; the next page continues after the last row. A page whose time
// is over has the rows that were read; one without a row fails.
#pragma once

#include <string>
#include <vector>

#include "engine/model/read_spec.h"
#include "net/server/shard/shard_server.h"

namespace cellar::http {

struct BrowseRequest {
  std::string table;
  std::string prefix;        // of row keys; empty: all
  std::string after;         // rows after this one; empty: from the first
  size_t cells = 200;        // at most kMaxBrowsedCells
  bool include_dead = true;  // also dead cells not yet reclaimed
  // Empty and absent: all. Regular expressions match the whole family, qualifier, value.
  std::string family;
  std::string qualifier;
  std::string text;
  TimeRange times;
  uint32_t versions = 0;  // the newest of each column; dead ones count
};

inline constexpr size_t kMaxBrowsedCells = 1000;
inline constexpr size_t kMaxBrowsedBytes = 1u << 20;
inline constexpr size_t kShownValueBytes = 256;  // bytes shown of each value
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
  bool more = false;  // more rows may follow `next`
  // The last row that was looked at, at least BrowseRequest::after: that of the next page.
  std::string next;
  // The page ends within its only row. No page has what follows in the row, perhaps only entries
  // that this request does not show.
  bool cut = false;
  int64_t now_us = 0;  // trusted time of the reading
};

// Call on the requesting shard. NOT_FOUND; INVALID_ARGUMENT for a regular expression;
// DEADLINE_EXCEEDED names the row that takes too long.
Async<Result<BrowsedCells>> browse(server::ShardServer& shard, BrowseRequest request);

}  // namespace cellar::http
