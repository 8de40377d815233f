// TableItem: what a tablet's manifest entry says about one of its tables on disk, by blob id: the
// facts about the table, and which of its rows are the tablet's. A table that was written for the
// tablet is wholly its own; after a split both parts name the table, each with its rows; and where
// a tablet that had emptied itself is merged with its neighbour, the rows keep what it had deleted
// from coming back with a table that they shared.
#pragma once

#include <string>

#include "engine/model/read_spec.h"
#include "engine/sstable/table_meta.h"
#include "io/base/result.h"

namespace cellar::engine {

struct TableItem {
  static constexpr uint8_t kVersion = 2;

  TableMeta meta;
  KeyRange rows;  // empty at both ends: all of the table
  // Other tablets name the blob too, or did since the node started. Known, not written down.
  bool shared = false;
};

// See FORMATS.md, "Manifest". Decoding answers DATA_LOSS for bytes that are none and
// FAILED_PRECONDITION for those of a newer program.
std::string encode_table_item(const TableItem& item);
Result<TableItem> decode_table_item(Bytes encoded);

}  // namespace cellar::engine
