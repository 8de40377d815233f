// TableSlice: the part of a table that belongs to one tablet: the entries of certain rows, and of
// the table's range deletes what lies within them. Most tables were written for their tablet and
// belong to it whole; after a split one table serves several tablets, each with its slice.
//
// Where the rows reach beyond everything in the table nothing is cut there, and nothing is
// compared.
//
// Example: a table holds rows a to t. The slice [, m) is cut above, [m, ) below, [, z) not at all.
#pragma once

#include <string>
#include <vector>

#include "engine/model/read_spec.h"
#include "engine/sstable/table_reader.h"

namespace cellar::engine {

class TableSlice {
 public:
  // The reader outlives it. Without rows: all of the table.
  explicit TableSlice(TableReader& table, const KeyRange& rows = {});
  TableSlice(const TableSlice&) = delete;
  TableSlice& operator=(const TableSlice&) = delete;

  TableReader& table() const { return table_; }
  // Encoded keys of its entries lie in [lower, upper). Empty: the table is not cut there.
  Bytes lower() const { return lower_; }
  Bytes upper() const { return upper_; }
  bool is_cut() const { return cut_; }

  // False only when it has no entry: by the table's first and last key, so it may err.
  bool may_have_entries() const;
  // Nothing at all of the table lies in the rows.
  bool empty() const { return !may_have_entries() && range_deletes().empty(); }
  // True only when every entry is < key.
  bool ends_before(Bytes key) const {
    return upper_.empty() ? Bytes(table_.meta().largest_key) < key : Bytes(upper_) <= key;
  }
  // False only when every entry is >= key.
  bool begins_before(Bytes key) const { return first() < key; }
  // At or before the first entry.
  Bytes first() const { return lower_.empty() ? Bytes(table_.meta().smallest_key) : lower_; }

  const std::vector<StampedRange>& range_deletes() const {
    return cut_ ? ranges_ : table_.range_deletes();
  }
  // About how many bytes of the file are its; exact to a block at either end, or to
  // a part of the index.
  uint64_t bytes() const { return bytes_; }

 private:
  uint64_t count_bytes() const;

  TableReader& table_;
  std::string lower_;
  std::string upper_;
  bool cut_ = false;
  std::vector<StampedRange> ranges_;  // where cut_
  uint64_t bytes_ = 0;
};

}  // namespace cellar::engine
