// ColumnKeys: the keys of a table's filter over columns (row_probe.h), gathered while the table is
// written, as long as such a filter pays.
//
// It pays where rows have several columns: kColumnsPerRow keys a row or more, looked at whenever
// kKeysALook more have come and at the end. A table that once falls below has none, and gathering
// them costs nothing from then on; of rows with one column the row filter says as much.
#pragma once

#include <cstdint>
#include <string>

#include "engine/model/key.h"
#include "engine/sstable/filter.h"

namespace cellar::engine {

class ColumnKeys {
 public:
  static constexpr uint64_t kColumnsPerRow = 2;
  static constexpr uint64_t kKeysALook = 4096;

  explicit ColumnKeys(bool wanted) : wanted_(wanted) {}

  // Entries in the order of their keys; `rows`: so many so far, this one's included.
  void add(const ParsedKey& key, uint64_t rows) {
    if (wanted_) add_key(key.column_prefix.empty() ? key.row_prefix : key.column_prefix, rows);
  }
  // Of a table of so many rows a filter is to be written.
  bool pay(uint64_t rows) const {
    return wanted_ && keys_.rows() != 0 && keys_.rows() >= kColumnsPerRow * rows;
  }
  FilterBuilder& keys() { return keys_; }
  const FilterBuilder& keys() const { return keys_; }

 private:
  void add_key(Bytes key, uint64_t rows) {
    if (key == last_) return;
    last_.assign(key);
    keys_.add(row_hash(key));
    if (keys_.rows() % kKeysALook != 0 || pay(rows)) return;
    wanted_ = false;
    keys_ = FilterBuilder();
  }

  bool wanted_;
  std::string last_;
  FilterBuilder keys_;
};

}  // namespace cellar::engine
