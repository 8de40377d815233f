// ColumnList: the columns of a set of entries (a memtable, a table, a run), as long as they are
// few. By it a read that names no column knows what an older source may still add to a row
// (read/newest_read.h).
//
// A column is written as in keys: the column prefix without the row prefix (model/key.h), from the
// family's byte to in_column.
//
// Invariants
//   1. A known list has every column of which a cell was added. Columns of deletes are not listed.
//   2. A known list has at most kMostColumns columns and kMostBytes bytes; with more it is unknown,
//      and stays so.
//
// A list is one string, so that equal lists, the common case, are found equal by one comparison.
#pragma once

#include <string>

#include "engine/model/key.h"
#include "io/base/bytes.h"
#include "io/base/coding.h"

namespace cellar::engine {

class ColumnList {
 public:
  static constexpr size_t kMostColumns = 16;
  static constexpr size_t kMostBytes = 512;  // encoded

  static ColumnList unknown() {
    ColumnList list;
    list.forget();
    return list;
  }

  bool known() const { return known_; }
  bool empty() const { return known_ && encoded_.empty(); }
  bool has(Bytes column) const;  // REQUIRES: known()
  // Calls use(column) in key order. REQUIRES: known().
  template <class F>
  void for_each(F use) const {
    for (Reader in(encoded_); !in.at_end();) use(in.bytes());
  }

  void add_entry(const ParsedKey& key) {
    if (!known_ || key.kind != EntryKind::cell) return;
    const Bytes column = key.column_prefix.substr(key.row_prefix.size());
    if (column != last()) add(column);
  }
  void add(Bytes column);
  void merge(const ColumnList& other);

  // For the meta block; see FORMATS.md. decode returns false for invalid bytes. REQUIRES: known().
  const std::string& encoded() const { return encoded_; }
  bool decode(Bytes encoded);
  size_t heap_bytes() const { return encoded_.capacity(); }

  bool operator==(const ColumnList& o) const {
    return known_ == o.known_ && encoded_ == o.encoded_;
  }

 private:
  void forget();
  Bytes last() const { return Bytes(encoded_).substr(last_at_, last_bytes_); }

  std::string encoded_;  // columns in key order: size varint, bytes
  size_t last_at_ = 0;   // of the column that was added last, in encoded_
  size_t last_bytes_ = 0;
  bool known_ = true;
};

// Splits a column of a list. The qualifier is returned as by decode_segment(). False: malformed.
bool split_column(Bytes column, Bytes& family, Bytes& qualifier, std::string& scratch);

}  // namespace cellar::engine
