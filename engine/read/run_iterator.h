// RunIterator: the tables of one run, disjoint and in key order, as one source. Only the current
// table has an open iterator, so a run counts as one source of a merge.
#pragma once

#include <optional>
#include <vector>

#include "engine/iter/entry_iterator.h"
#include "engine/sstable/table_slice.h"

namespace cellar::engine {

class RunIterator final : public EntryIterator {
 public:
  // Slices sorted by key, disjoint, of tables with at least one entry. They must outlive this.
  // Omitted tables are treated as empty.
  explicit RunIterator(std::vector<const TableSlice*> tables, TableIteratorOptions options = {})
      : tables_(std::move(tables)), options_(options) {}

  Step seek(Bytes key) override;
  Step seek_before(Bytes key) override;
  Step next() override;
  Step resume() override;
  void collect(std::vector<BlockRequest*>& requests) override { current_->collect(requests); }
  Bytes key() const override { return current_->key(); }
  Bytes value() const override { return current_->value(); }
  const Error& error() const override { return current_->error(); }

 private:
  void open(size_t index);
  Step cross_tables(Step step);

  std::vector<const TableSlice*> tables_;
  TableIteratorOptions options_;
  std::optional<SliceIterator> current_;
  size_t at_ = SIZE_MAX;   // the table that current_ reads
  bool backward_ = false;  // the move in progress is seek_before
};

}  // namespace cellar::engine
