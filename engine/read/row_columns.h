// RowColumns: the columns that a row of some sources may have, if these are few. A read that names
// no column then is a read of these, and can leave older sources closed (newest_read.h).
//
// One shard. Keeps the last answer: sources of a table rarely differ in their columns.
#pragma once

#include "engine/filter/named_columns.h"
#include "engine/iter/column_list.h"
#include "engine/read/source.h"

namespace cellar::engine {

class RowColumns {
 public:
  // Null: unknown, or more than ColumnList holds, or at most one source has cells, so that a read
  // of these columns saves nothing. Valid until the next call.
  const NamedColumns* of(const ReadSources& sources);

 private:
  ColumnList list_;
  NamedColumns names_;  // of list_
};

}  // namespace cellar::engine
