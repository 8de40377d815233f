#include "net/client/codec/requests.h"

#include <algorithm>
#include <utility>

namespace cellar::client {

ReadRows ReadRows::prefix(Bytes p) {
  ReadRows read;
  RowRange range;
  range.start = std::string(p);
  std::string end = prefix_successor(p);
  if (!end.empty()) range.end = std::move(end);
  read.ranges.push_back(std::move(range));
  return read;
}

namespace {

// Reduces the range to the part after `last` in the direction of the read; false: nothing is left.
bool clip(RowRange& range, const std::string& last, bool reversed) {
  if (!reversed) {
    if (range.end && (*range.end < last || (*range.end == last))) return false;
    if (!range.start || *range.start <= last) {
      range.start = last;
      range.start_open = true;
    }
    return true;
  }
  if (range.start && *range.start >= last) return false;
  if (!range.end || *range.end >= last) {
    range.end = last;
    range.end_closed = false;
  }
  return true;
}

}  // namespace

bool ReadRows::resume_after(Bytes after, uint64_t rows) {
  if (row_limit > 0) {
    if (rows >= row_limit) return false;
    row_limit -= rows;
  }
  const std::string last(after);
  const bool everything = keys.empty() && ranges.empty();
  if (everything) ranges.emplace_back();
  std::erase_if(keys, [&](const std::string& key) { return reversed ? key >= last : key <= last; });
  std::erase_if(ranges, [&](RowRange& range) { return !clip(range, last, reversed); });
  return !keys.empty() || !ranges.empty();
}

bool ReadIndex::resume_after(std::string position, uint64_t hits) {
  if (limit) {
    if (hits >= static_cast<uint64_t>(std::max<int64_t>(*limit, 0))) return false;
    *limit -= static_cast<int64_t>(hits);
  }
  after = std::move(position);
  return true;
}

}  // namespace cellar::client
