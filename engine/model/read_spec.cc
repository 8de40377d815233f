#include "engine/model/read_spec.h"

#include <algorithm>

namespace cellar {
namespace {

// An empty end means the end of all rows.
bool ends_before(const std::string& a, const std::string& b) {
  if (a.empty()) return false;
  return b.empty() || a < b;
}

}  // namespace

KeyRange intersect(const KeyRange& a, const KeyRange& b) {
  return {std::max(a.start, b.start), ends_before(a.end, b.end) ? a.end : b.end};
}

RowSet RowSet::everything() {
  RowSet set;
  set.ranges_.push_back(KeyRange{});
  return set;
}

void RowSet::add(KeyRange range) {
  if (!range.empty()) ranges_.push_back(std::move(range));
}

void RowSet::set_single(Bytes row) {
  ranges_.resize(1);
  ranges_[0].start.assign(row);
  ranges_[0].end.assign(row);
  ranges_[0].end.push_back('\0');
}

void RowSet::normalize() {
  std::sort(ranges_.begin(), ranges_.end(),
            [](const KeyRange& a, const KeyRange& b) { return a.start < b.start; });
  size_t kept = 0;
  for (size_t i = 0; i < ranges_.size(); ++i) {
    if (kept > 0) {
      KeyRange& last = ranges_[kept - 1];
      const bool touches = last.end.empty() || ranges_[i].start <= last.end;
      if (touches) {
        if (ends_before(last.end, ranges_[i].end)) last.end = std::move(ranges_[i].end);
        continue;
      }
    }
    if (kept != i) ranges_[kept] = std::move(ranges_[i]);
    ++kept;
  }
  ranges_.resize(kept);
}

RowSet RowSet::clip(Bytes start, Bytes end) const {
  RowSet clipped;
  const std::string last(end);
  for (const KeyRange& range : ranges_) {
    KeyRange part{range.start < start ? std::string(start) : range.start,
                  ends_before(last, range.end) ? last : range.end};
    if (!part.empty()) clipped.ranges_.push_back(std::move(part));
  }
  return clipped;
}

}  // namespace cellar
