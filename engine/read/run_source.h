// A run of tables as a source of reads: leaves out the tables that key range, row filter or time
// bounds show to be without effect on the answer.
#pragma once

#include <utility>
#include <vector>

#include "engine/iter/range_delete.h"
#include "engine/read/source.h"
#include "engine/sstable/table_slice.h"

namespace cellar::engine {

class RunSource final : public ReadSource {
 public:
  // Slices sorted by key, disjoint. They outlive this (the version that holds both sees to that).
  // `prune` off looks into every table; the answers are the same.
  explicit RunSource(std::vector<const TableSlice*> tables, bool prune = true);

  EntryIterator* open(const ReadScope& scope, IteratorArena& arena) const override;
  bool prefetch(const ReadScope& scope, size_t place) const override;
  const std::vector<StampedRange>& range_deletes() const override;

 private:
  using Place = std::vector<const TableSlice*>::const_iterator;

  // The tables whose keys lie in the scope's range, as far as they are left out for that.
  std::pair<Place, Place> tables_in(const ReadScope& scope) const;
  bool is_wanted(const TableSlice& slice, const ReadScope& scope) const;
  // prefetch() of the block for `key` in a table whose index is in parts; `number`: of the part.
  bool prefetch_by_part(const ReadScope& scope, TableReader& table, size_t number, Bytes key,
                        size_t place) const;

  std::vector<const TableSlice*> tables_;  // that have entries
  bool prune_;
  std::vector<StampedRange> joined_;  // of several tables that hold range deletes
  const std::vector<StampedRange>* ranges_ = nullptr;
};

}  // namespace cellar::engine
