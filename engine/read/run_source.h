// RunSource: a run of tables as a source of reads. It skips tables whose key range, row filter or
// time bounds show that they do not affect the result.
#pragma once

#include <utility>
#include <vector>

#include "engine/iter/range_delete.h"
#include "engine/read/source.h"
#include "engine/sstable/table_slice.h"

namespace cellar::engine {

class RunSource final : public ReadSource {
 public:
  // Slices sorted by key, disjoint. They must outlive this (the version that holds both ensures
  // that). Without `prune` it reads every table; the results are the same.
  explicit RunSource(std::vector<const TableSlice*> tables, bool prune = true);

  EntryIterator* open(const ReadScope& scope, IteratorArena& arena) const override;
  bool prefetch(const ReadScope& scope, size_t place) const override;
  SourceBounds bounds() const override { return bounds_; }
  bool is_run() const override { return true; }
  const TableReader* table_of(Bytes row_prefix) const override;
  const std::vector<RangeTombstone>& range_deletes() const override;

 private:
  using Place = std::vector<const TableSlice*>::const_iterator;

  // The tables whose keys may be in the scope's range.
  std::pair<Place, Place> tables_in(const ReadScope& scope) const;
  bool is_wanted(const TableSlice& slice, const ReadScope& scope) const;
  // prefetch() of the block of `key` in a table whose index is in parts; `number`: of the part.
  bool prefetch_by_part(const ReadScope& scope, TableReader& table, size_t number, Bytes key,
                        size_t place) const;

  std::vector<const TableSlice*> tables_;  // tables with entries
  bool prune_;
  ColumnList columns_;
  SourceBounds bounds_;
  std::vector<RangeTombstone> joined_;  // if several tables have range deletes
  const std::vector<RangeTombstone>* ranges_ = nullptr;
};

}  // namespace cellar::engine
