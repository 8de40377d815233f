// RowProbe: the query of a point read to a table's filters: the row and, if the read names its
// columns, the column prefixes of these and of the markers that may cover them.
//
// A column filter has a key for every entry of the table: the column prefix (model/key.h) of cells
// and column deletes, the family's prefix of family deletes, the row's prefix of row deletes, the
// token's prefix of tokens. A table is irrelevant to the named columns if its filter has none of:
// the columns, their families' prefixes, the row's prefix.
#pragma once

#include <string>
#include <vector>

#include "engine/model/key.h"
#include "engine/sstable/filter.h"

namespace cellar::engine {

class RowProbe {
 public:
  RowProbe() = default;
  RowProbe(const RowProbe&) = delete;
  RowProbe& operator=(const RowProbe&) = delete;

  // Wants the whole row with this prefix (row 00 01), which must stay valid.
  void aim(Bytes row_prefix);
  // Wants only this column, and others that are added.
  void add_column(Bytes family, Bytes qualifier);
  // Wants only the entry with this key of the column filter, and others that are added.
  void add_key(Bytes key);

  Bytes row_prefix() const { return row_; }
  uint64_t hash() const { return row_hash_; }
  // Whether columns were named.
  bool has_columns() const { return !columns_.empty(); }

  // True if some(prefix, hash) is true for a column or for the prefix of a column's family.
  template <class F>
  bool any_column(F some) const {
    return any(columns_, some);
  }
  template <class F>
  bool any_family(F some) const {
    return any(families_, some);
  }

 private:
  struct Key {
    size_t begin;  // in keys_
    size_t bytes;
    uint64_t hash;
  };
  void add(std::vector<Key>& keys, size_t begin);
  template <class F>
  bool any(const std::vector<Key>& keys, F some) const {
    for (const Key& key : keys)
      if (some(Bytes(keys_).substr(key.begin, key.bytes), key.hash)) return true;
    return false;
  }

  Bytes row_;
  uint64_t row_hash_ = 0;
  std::string keys_;
  std::vector<Key> columns_;
  std::vector<Key> families_;
  std::string family_;  // last family added
};

}  // namespace cellar::engine
