// DeleteSweep: finds, among all deletes that affect a column, the first one after a commit that
// covers a timestamp. A read that only needs to know whether a cell is deleted asks for the last
// one (column_deletes.h); the replay must know since when.
//
// Row-range deletes over the row, and deletes of the row and of the family, are sorted lists shared
// by columns. Those of the column are opened and closed in descending order of timestamps: n
// deletes and m queries cost O((n + m) log n).
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "engine/retention/timeline.h"

namespace cellar::engine {

class DeleteSweep {
 public:
  struct Range {
    int64_t start_us;
    int64_t end_us;  // exclusive, except that kMaxTimestampUs includes that timestamp
    CommitStamp stamp;
  };

  // Descending stamps of deletes that cover every timestamp.
  using Stamps = std::vector<CommitStamp>;
  struct Whole {
    const Stamps* of_ranges = nullptr;
    const Stamps* of_row = nullptr;
    const Stamps* of_family = nullptr;
    bool empty() const { return of_ranges->empty() && of_row->empty() && of_family->empty(); }
  };

  // Starts a column. The stamps must stay valid until the next begin(); the ranges are copied, in
  // any order.
  void begin(const Whole& whole, const std::vector<Range>& ranges);
  // The earliest delete with a greater stamp that covers the timestamp; kNever if there is none.
  // REQUIRES: timestamps do not increase from call to call.
  Instant first_after(CommitStamp stamp, int64_t timestamp_us);

 private:
  Whole whole_;
  std::vector<Range> opening_;  // greatest last timestamp first
  size_t next_ = 0;
  std::vector<Range> closing_;  // heap: greatest start first
  std::multiset<CommitStamp> open_;
};

}  // namespace cellar::engine
