// ReadPlan: which tablet a read goes to next. It remembers a place among the rows, not a list of
// tablets, so that it goes on rightly however the table is cut by then.
//
// Example: rows [b, x) forwards over tablets [, k) and [k, ). next() is the first; passed(): the
// place is k. Now the second is split at p: next() is [k, p), then [p, ), and after it nothing is
// left. Were the two merged instead, next() would be [, ), and of the rows only [k, x) would be
// left to ask it for.
#pragma once

#include <string>

#include "engine/catalog/table_map.h"
#include "engine/model/read_spec.h"

namespace cellar::server {

// Reusable. One shard.
class ReadPlan {
 public:
  // `rows` are used until the next begin(), and lose those that were read where a tablet holds such
  // rows and others.
  void begin(RowSet& rows, bool reversed);

  // Rows are left that lie behind the place.
  bool more() const;
  // The tablet that holds the next rows. REQUIRES: more().
  const engine::TabletDescriptor& next(const engine::TableEntry& table);
  // All rows of the tablet that next() answered last are read.
  void passed();

 private:
  const KeyRange* next_range() const;

  void drop_rows_read(const engine::TabletDescriptor& tablet);

  RowSet* rows_ = nullptr;
  bool reversed_ = false;
  bool ended_ = false;  // the place is behind all rows
  // Forwards the first row that was not read; reversed the first that was (empty: none was).
  std::string place_;
  std::string behind_;  // the place once the tablet at hand is passed
};

}  // namespace cellar::server
