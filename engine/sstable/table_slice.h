// TableSlice: the part of a table that belongs to one tablet: the entries of certain rows, and the
// range deletes cut to these rows. Most tables belong to their tablet completely; after a split one
// table serves several tablets, each with its slice.
//
// A side on which the rows extend beyond the table is not cut, and needs no comparisons.
//
// Example: a table has rows a to t. The slice [, m) is cut above, [m, ) below, [, z) not at all.
#pragma once

#include <string>
#include <vector>

#include "engine/model/read_spec.h"
#include "engine/sstable/table_reader.h"

namespace cellar::engine {

class TableSlice {
 public:
  // `table` must outlive it. Without rows: the whole table.
  explicit TableSlice(TableReader& table, const KeyRange& rows = {});
  TableSlice(const TableSlice&) = delete;
  TableSlice& operator=(const TableSlice&) = delete;

  TableReader& table() const { return table_; }
  // Encoded keys of its entries are in [lower, upper). Empty: not cut on that side.
  Bytes lower() const { return lower_; }
  Bytes upper() const { return upper_; }
  bool is_cut() const { return cut_; }

  // False only if it has no entry; decided by the table's first and last key, so true may be wrong.
  bool may_have_entries() const;
  // The slice has neither entries nor range deletes.
  bool empty() const { return !may_have_entries() && range_deletes().empty(); }
  // True only if every entry is < key.
  bool ends_before(Bytes key) const {
    return upper_.empty() ? Bytes(table_.meta().largest_key) < key : Bytes(upper_) <= key;
  }
  // False only if every entry is >= key.
  bool begins_before(Bytes key) const { return first() < key; }
  // At or before the first entry.
  Bytes first() const { return lower_.empty() ? Bytes(table_.meta().smallest_key) : lower_; }

  const std::vector<RangeTombstone>& range_deletes() const {
    return cut_ ? ranges_ : table_.range_deletes();
  }
  // Approximate bytes of the file in the slice; exact except for one block, or one part of the
  // index, at each end.
  uint64_t bytes() const { return bytes_; }

 private:
  uint64_t count_bytes() const;

  TableReader& table_;
  std::string lower_;
  std::string upper_;
  bool cut_ = false;
  std::vector<RangeTombstone> ranges_;  // if cut_
  uint64_t bytes_ = 0;
};

}  // namespace cellar::engine
