#include "engine/iter/range_delete.h"

#include <algorithm>

#include "io/base/coding.h"

namespace cellar::engine {

CommitStamp covering_stamp(const std::vector<RangeTombstone>& ranges, Bytes row) {
  CommitStamp latest;
  for (const RangeTombstone& range : ranges) {
    if (range.stamp > latest && range.covers(row)) latest = range.stamp;
  }
  return latest;
}

std::string encode_ranges(const std::vector<RangeTombstone>& ranges) {
  std::string out;
  put_varint(out, ranges.size());
  for (const RangeTombstone& range : ranges) {
    put_bytes(out, range.start);
    put_bytes(out, range.end);
    put_u64(out, range.stamp.value());
  }
  return out;
}

bool decode_ranges(Bytes encoded, std::vector<RangeTombstone>& out) {
  out.clear();
  Reader in(encoded);
  const uint64_t count = in.varint();
  for (uint64_t i = 0; i < count && in.ok(); ++i) {
    const Bytes start = in.bytes();
    const Bytes end = in.bytes();
    const CommitStamp stamp{in.u64()};
    if (in.ok()) out.push_back({std::string(start), std::string(end), stamp});
  }
  return in.ok() && in.at_end();
}

}  // namespace cellar::engine
