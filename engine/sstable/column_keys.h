// ColumnKeys: collects the keys of a table's column filter (row_probe.h) during writing, as long as
// such a filter pays.
//
// It pays if rows have several columns: at least kColumnsPerRow keys per row, checked after every
// kKeysALook keys and at the end. A table that fails once gets no filter, and collecting costs
// nothing from then on; for rows with one column the row filter is enough.
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

  // Call with entries in key order; `rows`: number of rows so far, including this one.
  void add(const ParsedKey& key, uint64_t rows) {
    if (wanted_) add_key(key.column_prefix.empty() ? key.row_prefix : key.column_prefix, rows);
  }
  // Whether a table of that many rows gets a filter.
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
