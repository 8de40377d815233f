#include "engine/read/scan_bounds.h"

#include <algorithm>

#include "engine/model/key.h"

namespace cellar::engine {
namespace {

bool is_successor(Bytes end, Bytes row) {
  return end.size() == row.size() + 1 && end.back() == '\0' && end.starts_with(row);
}

}  // namespace

// Appends row_prefix(row); returns its size.
uint32_t ScanBounds::append_prefix(Bytes row) {
  const size_t before = keys_.size();
  if (row.find('\0') == Bytes::npos) {
    append(row);
    append(Bytes("\0\1", 2));
  } else {
    append(row_prefix(row));
  }
  return static_cast<uint32_t>(keys_.size() - before);
}

Bytes ScanBounds::after_every_key() {
  // Longer than any row.
  static const std::string kAfter(kMaxRowKeyBytes + 1, '\xff');
  return kAfter;
}

ScanBounds::ScanBounds(const RowSet& rows, Bytes start, Bytes end) {
  for (const KeyRange& range : rows.ranges()) {
    const Bytes from = std::max(Bytes(range.start), start);
    const bool open = range.end.empty() && end.empty();
    const Bytes to =
        range.end.empty() || (!end.empty() && end < Bytes(range.end)) ? end : Bytes(range.end);
    if (open || from < to) add(from, to, open);
  }
  single_row_ = single_row_ && places_.size() == 1;
}

Bytes ScanBounds::first_row(std::string& scratch) const {
  return decode_row_prefix(lower(), scratch);
}

std::optional<Bytes> ScanBounds::end_row(std::string& scratch) const {
  if (places_.back().open) return std::nullopt;
  return decode_row_prefix(upper(), scratch);
}

void ScanBounds::add(Bytes start, Bytes end, bool open) {
  Place place{keys_.size(), 0, 0, open, false};
  place.lower_bytes = append_prefix(start);
  single_row_ = !open && is_successor(end, start);
  place.single_row = single_row_;
  if (single_row_) {
    // `row 00` is written `row 00 FF 00 01`.
    const size_t row_bytes = place.lower_bytes - 2;
    keys_.reserve(keys_.size() + row_bytes + 4);
    append(keys_.view().substr(place.begin, row_bytes));
    append(Bytes("\0\xff\0\1", 4));
    place.upper_bytes = static_cast<uint32_t>(row_bytes + 4);
  } else if (!open) {
    place.upper_bytes = append_prefix(end);
  }
  places_.push_back(place);
}

}  // namespace cellar::engine
