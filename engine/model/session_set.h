// SessionSet: sessions, as ranges of consecutive ones. It tells which sessions were those of one
// node: on one machine all of them, in a cluster those that it drew among others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "engine/model/types.h"

namespace cellar {

// The session that a blob's or a log's id carries.
constexpr SessionEpoch session_of(BlobId id) {
  return SessionEpoch{static_cast<uint32_t>(id.value() >> 34)};
}
constexpr SessionEpoch session_of(LogId id) {
  return SessionEpoch{static_cast<uint32_t>(id.value() >> 16)};
}

class SessionSet {
 public:
  struct Range {
    SessionEpoch first;
    SessionEpoch last;  // included
    bool operator==(const Range&) const = default;
  };
  // Beyond this many ranges the oldest is forgotten.
  static constexpr size_t kMaxSessionRanges = 1000;

  // All sessions up to this one.
  static SessionSet up_to(SessionEpoch last) {
    SessionSet set;
    if (last != SessionEpoch{}) set.ranges_.push_back({SessionEpoch{1}, last});
    return set;
  }

  // REQUIRES: greater than every session of the set.
  void add(SessionEpoch session) { add({session, session}); }
  // REQUIRES: first <= last, and first is greater than every session of the set.
  void add(Range range) {
    if (!ranges_.empty() && ranges_.back().last.value() + 1 == range.first.value()) {
      ranges_.back().last = range.last;
      return;
    }
    if (ranges_.size() == kMaxSessionRanges) ranges_.erase(ranges_.begin());
    ranges_.push_back(range);
  }
  bool contains(SessionEpoch session) const {
    const auto after = std::ranges::upper_bound(ranges_, session, {}, &Range::first);
    return after != ranges_.begin() && session <= std::prev(after)->last;
  }
  // The greatest one; 0: none.
  SessionEpoch last() const { return ranges_.empty() ? SessionEpoch{} : ranges_.back().last; }
  const std::vector<Range>& ranges() const { return ranges_; }

  bool operator==(const SessionSet&) const = default;

 private:
  std::vector<Range> ranges_;  // ascending; none touches the next
};

}  // namespace cellar
