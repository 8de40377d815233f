#include "engine/iter/column_list.h"

#include <algorithm>

namespace cellar::engine {
namespace {

constexpr size_t kHeadBytes = 1;  // before the family, see model/key.h
constexpr size_t kBetweenBytes = 2;
constexpr size_t kEndBytes = 2;

}  // namespace

bool ColumnList::has(Bytes column) const {
  for (Reader in(encoded_); !in.at_end();) {
    if (in.bytes() == column) return true;
  }
  return false;
}

void ColumnList::add(Bytes column) {
  if (!known_) return;
  size_t columns = 0;
  size_t place = encoded_.size();
  Reader in(encoded_);
  for (size_t at = 0; !in.at_end(); at = encoded_.size() - in.remaining(), ++columns) {
    const Bytes listed = in.bytes();
    if (listed < column) continue;
    if (listed == column) {
      last_at_ = encoded_.size() - in.remaining() - column.size();
      last_bytes_ = column.size();
      return;
    }
    place = std::min(place, at);
  }
  std::string entry;
  put_bytes(entry, column);
  if (columns == kMostColumns || encoded_.size() + entry.size() > kMostBytes) return forget();
  encoded_.insert(place, entry);
  last_at_ = place + entry.size() - column.size();
  last_bytes_ = column.size();
}

void ColumnList::merge(const ColumnList& other) {
  if (!other.known_) return forget();
  if (!known_ || encoded_ == other.encoded_) return;
  other.for_each([this](Bytes column) { add(column); });
}

void ColumnList::forget() {
  known_ = false;
  encoded_ = std::string();
  last_at_ = last_bytes_ = 0;
}

bool ColumnList::decode(Bytes encoded) {
  *this = ColumnList();
  if (encoded.size() > kMostBytes) return false;
  Bytes before;
  std::string scratch;
  size_t columns = 0;
  for (Reader in(encoded); !in.at_end();) {
    const Bytes column = in.bytes();
    Bytes family;
    Bytes qualifier;
    if (!in.ok() || column <= before || ++columns > kMostColumns) return false;
    if (!split_column(column, family, qualifier, scratch)) return false;
    before = column;
  }
  encoded_.assign(encoded);
  return true;
}

bool split_column(Bytes column, Bytes& family, Bytes& qualifier, std::string& scratch) {
  ParsedKey parsed;
  // The shortest key with this column: an empty row and a cell.
  std::string key = row_prefix({});
  const size_t before = key.size();
  key.append(column);
  append_cell_suffix(key, 0, CommitStamp{});
  if (!parse_key(key, parsed) || parsed.kind != EntryKind::cell) return false;
  if (parsed.column_prefix.size() != before + column.size()) return false;
  family = column.substr(kHeadBytes, parsed.family.size());
  const Bytes escaped = column.substr(kHeadBytes + family.size() + kBetweenBytes);
  qualifier = decode_segment(escaped.substr(0, escaped.size() - kEndBytes), scratch);
  return true;
}

}  // namespace cellar::engine
