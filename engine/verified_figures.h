// VerifiedFigures: when the tables on disk of a tablet or a table were last read and found whole
// (scrub/scrubber.h). A value; figures can be added.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cellar::engine {

struct VerifiedFigures {
  // Every byte on disk was written, or read and found whole, at this trusted time or later. 0: some
  // table has not been read since it came here (a restored backup; written by a program without a
  // scrubber). INT64_MAX: there are no tables on disk.
  int64_t since_us = INT64_MAX;
  // On disk, of the tables whose time is within scrub_every; 0 if the scrubber is off.
  uint64_t bytes = 0;
  uint64_t damaged = 0;  // tables on disk in which the scrubber or a read has found damage

  void add(const VerifiedFigures& other) {
    since_us = std::min(since_us, other.since_us);
    bytes += other.bytes;
    damaged += other.damaged;
  }
  bool operator==(const VerifiedFigures&) const = default;
};

}  // namespace cellar::engine
