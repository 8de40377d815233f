// RowProbe: what a point read wants of a row, in the words of a table's filters: the row, and,
// where the read names its columns, the column prefixes of those and the markers that reach over
// them.
//
// A filter over columns holds a key for every entry of the table: the column prefix (model/key.h)
// of cells and column deletes, the family's prefix of family deletes, the row's prefix of row
// deletes, the token's prefix of tokens. So a table holds nothing that matters to the columns named
// when it knows none of: the columns, their families' prefixes, the row's prefix.
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

  // All of the row with this prefix (row 00 01), which stays valid.
  void aim(Bytes row_prefix);
  // Only this column of it, and others that are added.
  void add_column(Bytes family, Bytes qualifier);
  // Only the entry with this key among those of the filter over columns, likewise.
  void add_key(Bytes key);

  Bytes row_prefix() const { return row_; }
  uint64_t hash() const { return row_hash_; }
  // Columns were named.
  bool has_columns() const { return !columns_.empty(); }

  // True when some(prefix, hash) is true of a column, or of the prefix of a family that has one.
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
  std::string family_;  // that was added last
};

}  // namespace cellar::engine
