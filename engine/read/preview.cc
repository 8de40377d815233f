#include "engine/read/preview.h"

#include "io/base/check.h"

namespace cellar::engine {

PreviewCount& PreviewCount::operator+=(const PreviewCount& other) {
  cells += other.cells;
  bytes += other.bytes;
  rows += other.rows;
  cells_seen += other.cells_seen;
  rows_seen += other.rows_seen;
  return *this;
}

PreviewWatch::PreviewWatch(const TableSchema& after) : after_(after), rules_(after) {}

void PreviewWatch::attach(const RangeDeletes& ranges) { judge_.emplace(after_, rules_, ranges); }

void PreviewWatch::begin_row(Bytes key, CommitStamp at, int64_t now_us) {
  const bool begun = judge_->begin_row(key, at, now_us);
  CHECK(begun, "a row that one judge could begin, the other could not");
  row_loses_ = false;
  ++count_.rows_seen;
}

bool PreviewWatch::entry(Bytes key, Bytes value, CellState fate, CellNote& /*note*/) {
  const CellState then = judge_->judge(key, value);
  if (fate != CellState::visible) return false;
  ++count_.cells_seen;
  if (then == CellState::visible) return false;
  ++count_.cells;
  count_.bytes += key.size() + judge_->value().value.size();
  count_.rows += row_loses_ ? 0 : 1;
  row_loses_ = true;
  return true;
}

}  // namespace cellar::engine
