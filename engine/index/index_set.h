// IndexSet: the indexes of a table, prepared for making the entries of its cells. Immutable; shared
// by the memtables and writers of one shard. EntryMaker makes entries; each of its users has its
// own.
//
//   EntryMaker maker(indexes);
//   maker.make(key, value, [&](size_t index, Bytes entry_key, Bytes entry_value) { ... });
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include "engine/index/index_key.h"
#include "engine/model/index_schema.h"
#include "engine/model/key.h"

namespace cellar::engine {

class IndexSet final : public boost::intrusive_ref_counter<IndexSet, boost::thread_unsafe_counter> {
 public:
  explicit IndexSet(const std::vector<IndexSchema>& indexes);

  size_t size() const { return indexes_.size(); }
  const IndexSchema& operator[](size_t i) const { return indexes_[i].schema; }
  // The position of the index with that id; size(): none.
  size_t find(uint64_t id) const;
  bool has(size_t i, const ParsedKey& cell) const {
    const Index& index = indexes_[i];
    return index.schema.family == cell.family &&
           (!index.schema.qualifier || index.escaped_qualifier == cell.escaped_qualifier);
  }

 private:
  struct Index {
    IndexSchema schema;
    std::string escaped_qualifier;
  };
  std::vector<Index> indexes_;
};

// Null if there are no indexes.
using IndexSetRef = boost::intrusive_ptr<const IndexSet>;
IndexSetRef make_index_set(const std::vector<IndexSchema>& indexes);

class EntryMaker {
 public:
  // Null: makes nothing.
  explicit EntryMaker(IndexSetRef indexes) : indexes_(std::move(indexes)) {}

  const IndexSet* indexes() const { return indexes_.get(); }

  // make() gives an entry of the cell for the index at that position. REQUIRES: kind cell.
  bool makes(size_t i, const ParsedKey& cell, const CellValue& value) const {
    return indexes_->has(i, cell) && !value.tombstone && is_indexed((*indexes_)[i], value.value);
  }
  // The entries of a cell: give(position of the index, key, value); the views are valid during the
  // call. A tombstone has none. `skip(position)` for a cell that an int64 index leaves out.
  template <class Give, class Skip>
  void make(const ParsedKey& cell, Bytes cell_value, Give&& give, Skip&& skip) {
    if (indexes_ == nullptr || cell.kind != EntryKind::cell) return;
    bool parsed = false;
    CellValue value;
    for (size_t i = 0; i < indexes_->size(); ++i) {
      if (!indexes_->has(i, cell)) continue;
      if (!parsed && (!parse_cell_value(cell_value, value) || value.tombstone)) return;
      parsed = true;
      if (make_key((*indexes_)[i], cell, value.value)) {
        give(i, Bytes(key_), Bytes(expiry_of(value)));
      } else {
        skip(i);
      }
    }
  }

 private:
  bool make_key(const IndexSchema& index, const ParsedKey& cell, Bytes value);
  Bytes expiry_of(const CellValue& value);

  IndexSetRef indexes_;
  std::string key_;
  std::string expiry_;
};

}  // namespace cellar::engine
