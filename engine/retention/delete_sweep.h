// DeleteSweep: of all deletes that reach a column, the first one after a commit that covers a
// timestamp. A read that only wants to know whether a cell is deleted asks for the last one
// (column_deletes.h); the replay must know since when.
//
// Deletes of the column's row and of its family are sorted lists that all columns share. Those of
// the column itself are opened and closed while timestamps fall: n deletes and m questions cost
// O((n + m) log n).
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

  // Begins a column. The stamps are borrowed until the next begin(); the ranges are copied, in any
  // order.
  void begin(const Stamps& of_row, const Stamps& of_family, const std::vector<Range>& ranges);
  // The earliest delete with a greater stamp that covers the timestamp; kNever when there is none.
  // REQUIRES: timestamps do not rise from call to call.
  Instant first_after(CommitStamp stamp, int64_t timestamp_us);

 private:
  const Stamps* of_row_ = nullptr;
  const Stamps* of_family_ = nullptr;
  std::vector<Range> opening_;  // greatest last timestamp first
  size_t next_ = 0;
  std::vector<Range> closing_;  // heap: greatest start first
  std::multiset<CommitStamp> open_;
};

}  // namespace cellar::engine
