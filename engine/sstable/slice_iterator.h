// SliceIterator: the entries of a slice, in order: a TableIterator that stays within the slice.
#pragma once

#include <algorithm>

#include "engine/sstable/table_iterator.h"
#include "engine/sstable/table_slice.h"

namespace cellar::engine {

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
