// DeleteSweep: of all deletes that reach a column, the first one after a commit that covers a
// timestamp. A read that only wants to know whether a cell is deleted asks for the last one
// (column_deletes.h); the replay must know since when.
//
// Row-range deletes over the row, deletes of the row and of the family are sorted lists that
// columns share. Those of the column itself are opened and closed while timestamps fall: n deletes
// and m questions cost O((n + m) log n).
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

  // Stamps that fall, of deletes that cover every timestamp.
  using Stamps = std::vector<CommitStamp>;
  struct Whole {
    const Stamps* of_ranges = nullptr;
    const Stamps* of_row = nullptr;
    const Stamps* of_family = nullptr;
    bool empty() const { return of_ranges->empty() && of_row->empty() && of_family->empty(); }
  };

  // Begins a column. The stamps are borrowed until the next begin(); the ranges are copied, in any
  // order.
  void begin(const Whole& whole, const std::vector<Range>& ranges);
  // The earliest delete with a greater stamp that covers the timestamp; kNever when there is none.
  // REQUIRES: timestamps do not rise from call to call.
  Instant first_after(CommitStamp stamp, int64_t timestamp_us);

 private:
  Whole whole_;
  std::vector<Range> opening_;  // greatest last timestamp first
  size_t next_ = 0;
  std::vector<Range> closing_;  // heap: greatest start first
  std::multiset<CommitStamp> open_;
};

}  // namespace cellar::engine
