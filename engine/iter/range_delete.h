// RangeTombstone: a range delete in memtables and tables. It covers every entry of rows [start,
// end) with a lesser stamp.
#pragma once

#include <string>
#include <vector>

#include "engine/model/types.h"
#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar::engine {

struct RangeTombstone {
  std::string start;  // first row deleted
  std::string end;    // first row kept; empty: unbounded
  CommitStamp stamp;

  // Encoded, at most.
  static uint64_t most_bytes(size_t start_bytes, size_t end_bytes) {
    return start_bytes + end_bytes + 2 * 5 + sizeof(uint64_t);
  }
  bool covers(Bytes row) const { return row >= start && (end.empty() || row < end); }
  bool operator==(const RangeTombstone&) const = default;
};

// The latest stamp of the ranges that cover the row; 0 if there is none. `row` is not escaped.
CommitStamp covering_stamp(const std::vector<RangeTombstone>& ranges, Bytes row);

// count: varint, then start: bytes, end: bytes, stamp: u64. decode returns false for anything else.
std::string encode_ranges(const std::vector<RangeTombstone>& ranges);
bool decode_ranges(Bytes encoded, std::vector<RangeTombstone>& out);

}  // namespace cellar::engine
