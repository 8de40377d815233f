// CellSelect: selects the visible cells of a row that a read wants: first the time range, then the
// newest `versions` of each column. It also gives the next key of interest, so that the reader can
// seek.
#pragma once

#include <cstdint>
#include <string>

#include "engine/model/key.h"
#include "engine/model/read_spec.h"

namespace cellar::engine {

class CellSelect {
 public:
  enum class Verdict : uint8_t {
    take,    // wanted, if it is visible
    newer,   // newer than the time range; older cells of the column may be wanted
    column,  // nothing more of this column is wanted
  };

  CellSelect(const TimeRange& range, uint32_t versions) : range_(range), versions_(versions) {}

  // look() always returns take.
  bool takes_all() const {
    return versions_ == 0 && range_.start_us <= 0 && range_.end_us == kMaxTimestampUs;
  }
  void begin_column() { taken_ = 0; }
  Verdict look(int64_t timestamp_us) const {
    if (versions_ != 0 && taken_ >= versions_) return Verdict::column;
    if (timestamp_us < range_.start_us || range_.end_us <= range_.start_us) return Verdict::column;
    return range_.contains(timestamp_us) ? Verdict::take : Verdict::newer;
  }
  // A visible cell was taken.
  void took() { ++taken_; }

  // Appends the least key at which something wanted can follow a cell that was not taken.
  void append_target(std::string& out, Bytes column_prefix, Verdict verdict) const {
    if (verdict != Verdict::newer) return append_column_end(out, column_prefix);
    out.append(column_prefix);
    append_cell_suffix(out, range_.end_us - 1, kMaxStamp);
  }

 private:
  TimeRange range_;
  uint32_t versions_;
  uint32_t taken_ = 0;
};

}  // namespace cellar::engine
