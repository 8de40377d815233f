// TableSlice: the part of a table that belongs to one tablet: the entries of certain rows, and the
// range deletes cut to these rows. Most tables belong to their tablet completely; after a split one
// table serves several tablets, each with its slice.
//
// A side on which the rows extend beyond the table is not cut, and needs no comparisons.
//
// Example: a table has rows a to t. The slice [, m) is cut above, [m, ) below, [, z) not at all.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "engine/model/read_spec.h"
#include "engine/sstable/table_iterator.h"
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

// SliceIterator: the entries of a slice, in order: a TableIterator that stays within the slice.
// REQUIRES: as TableIterator, for the slice.
class SliceIterator final : public EntryIterator {
 public:
  explicit SliceIterator(const TableSlice& slice, TableIteratorOptions options = {})
      : table_(slice.table(), options), lower_(slice.lower()), upper_(slice.upper()) {}

  Step seek(Bytes key) override {
    backward_ = false;
    return hold(table_.seek(std::max(key, lower_)));
  }
  Step seek_before(Bytes key) override {
    backward_ = true;
    return hold(table_.seek_before(upper_.empty() ? key : std::min(key, upper_)));
  }
  Step next() override {
    backward_ = false;
    return hold(table_.next());
  }
  Step resume() override { return hold(table_.resume()); }
  void collect(std::vector<BlockRequest*>& requests) override { table_.collect(requests); }
  Bytes key() const override { return table_.key(); }
  Bytes value() const override { return table_.value(); }
  const Error& error() const override { return table_.error(); }

 private:
  // An entry outside means the end of the slice.
  Step hold(Step step) const {
    if (step != Step::ready) return step;
    if (backward_) return table_.key() < lower_ ? Step::end : step;
    return !upper_.empty() && table_.key() >= upper_ ? Step::end : step;
  }

  TableIterator table_;
  Bytes lower_;  // of the slice
  Bytes upper_;
  bool backward_ = false;  // the move in progress is seek_before
};

}  // namespace cellar::engine
