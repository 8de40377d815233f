#include "engine/sstable/table_slice.h"

#include <algorithm>

namespace cellar::engine {
namespace {

// Reduces a range delete to the rows; false if nothing is left.
bool clip(RangeTombstone& range, const KeyRange& rows) {
  const KeyRange part = intersect({range.start, range.end}, rows);
  if (part.empty()) return false;
  range.start = part.start;
  range.end = part.end;
  return true;
}

}  // namespace

TableSlice::TableSlice(TableReader& table, const KeyRange& rows) : table_(table) {
  const TableMeta& meta = table.meta();
  if (!rows.start.empty()) lower_ = row_prefix(rows.start);
  if (!rows.end.empty()) upper_ = row_prefix(rows.end);
  if (Bytes(meta.smallest_key) >= lower_) lower_.clear();
  if (Bytes(meta.largest_key) < upper_) upper_.clear();
  for (RangeTombstone range : table.range_deletes()) {
    const RangeTombstone whole = range;
    const bool inside = clip(range, rows);
    cut_ = cut_ || !inside || !(range == whole);
    if (inside) ranges_.push_back(std::move(range));
  }
  cut_ = cut_ || !lower_.empty() || !upper_.empty();
  if (!cut_) ranges_.clear();
  bytes_ = count_bytes();
}

bool TableSlice::may_have_entries() const {
  const TableMeta& meta = table_.meta();
  if (meta.entries == 0) return false;
  if (!lower_.empty() && Bytes(meta.largest_key) < lower_) return false;
  return upper_.empty() || Bytes(meta.smallest_key) < upper_;
}

uint64_t TableSlice::count_bytes() const {
  if (!cut_) return table_.meta().file_bytes;
  if (!may_have_entries()) return 0;
  const TableIndex& index = table_.marks();
  const size_t first = lower_.empty() ? 0 : index.find(lower_);
  const size_t last = upper_.empty() ? index.blocks() - 1 : index.find_before(upper_);
  return last < first ? 0 : index.handle(last).end() - index.handle(first).offset;
}

}  // namespace cellar::engine
