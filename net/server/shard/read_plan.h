// ReadPlan: the next tablet of a read. It stores a place among the rows instead of a list of
// tablets, so that it remains correct when tablets split or merge.
//
// Example: rows [b, x) forwards over tablets [, k) and [k, ). next() is the first; after passed()
// the place is k. If the second is split at p, next() is [k, p), then [p, ), then nothing is left.
// If the two are merged instead, next() is [, ) and the rows left to read are [k, x).
#pragma once

#include <string>

#include "engine/catalog/table_map.h"
#include "engine/model/read_spec.h"

namespace cellar::server {

// Reusable. One shard.
class ReadPlan {
 public:
  // `rows` is used until the next begin(), and loses rows already read if a tablet holds both those
  // and others.
  void begin(RowSet& rows, bool reversed);

  // Whether rows are left after the place.
  bool more() const;
  // The tablet that holds the next rows. REQUIRES: more().
  const engine::TabletDescriptor& next(const engine::TableEntry& table);
  // Marks the tablet last returned by next() as completely read.
  void passed();

 private:
  const KeyRange* next_range() const;

  void drop_rows_read(const engine::TabletDescriptor& tablet);

  RowSet* rows_ = nullptr;
  bool reversed_ = false;
  bool ended_ = false;  // no rows are left
  // Forwards: the first row not read. Reversed: the least row read (empty: none).
  std::string place_;
  std::string behind_;  // the place after the current tablet
};

}  // namespace cellar::server
