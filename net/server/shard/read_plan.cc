#include "net/server/shard/read_plan.h"

#include <algorithm>

namespace cellar::server {

using engine::TableEntry;
using engine::TabletDescriptor;

void ReadPlan::begin(RowSet& rows, bool reversed) {
  rows_ = &rows;
  reversed_ = reversed;
  ended_ = false;
  place_.clear();
  behind_.clear();
}

// The range of the next rows; ranges and their ends are sorted and disjoint.
const KeyRange* ReadPlan::next_range() const {
  const auto& ranges = rows_->ranges();
  if (ended_ || ranges.empty()) return nullptr;
  if (!reversed_) {
    const auto it = std::partition_point(
        ranges.begin(), ranges.end(),
        [this](const KeyRange& range) { return !range.end.empty() && range.end <= place_; });
    return it == ranges.end() ? nullptr : &*it;
  }
  if (place_.empty()) return &ranges.back();
  const auto it = std::partition_point(
      ranges.begin(), ranges.end(), [this](const KeyRange& range) { return range.start < place_; });
  return it == ranges.begin() ? nullptr : &*(it - 1);
}

bool ReadPlan::more() const { return next_range() != nullptr; }

const TabletDescriptor& ReadPlan::next(const TableEntry& table) {
  const KeyRange* range = next_range();
  CHECK(range != nullptr, "a read that has no rows left asks for a tablet");
  if (!reversed_) {
    const TabletDescriptor& tablet = table.locate(std::max<Bytes>(place_, range->start));
    behind_ = tablet.end;
    drop_rows_read(tablet);
    return tablet;
  }
  // The rows just before the lesser of the place and the range's end; empty means unbounded.
  const bool range_ends_first = place_.empty() || (!range->end.empty() && range->end < place_);
  const std::string& bound = range_ends_first ? range->end : place_;
  const auto& tablets = table.tablets;
  auto it = tablets.end();
  if (!bound.empty()) {
    it = std::partition_point(tablets.begin(), tablets.end(),
                              [&bound](const TabletDescriptor& t) { return t.start < bound; });
  }
  const TabletDescriptor& tablet = *(it - 1);
  behind_ = tablet.start;
  drop_rows_read(tablet);
  return tablet;
}

// After a merge one tablet may hold both rows that were read and rows that were not.
void ReadPlan::drop_rows_read(const TabletDescriptor& tablet) {
  if (place_.empty()) return;
  if (!reversed_ && tablet.start < place_) *rows_ = rows_->clip(place_, {});
  if (reversed_ && (tablet.end.empty() || tablet.end > place_)) *rows_ = rows_->clip({}, place_);
}

void ReadPlan::passed() {
  ended_ = behind_.empty();
  place_ = behind_;
}

}  // namespace cellar::server
