// The manifest's state of a table: its schema and, for a dropped table that can still be restored,
// the time of the drop and the end of the restore window. See FORMATS.md, "Manifest".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/model/schema.h"
#include "io/base/result.h"

namespace cellar::engine {

struct DropMark {
  int64_t dropped_us = 0;           // trusted time
  int64_t restorable_until_us = 0;  // inclusive

  bool operator==(const DropMark&) const = default;
};

struct TableState {
  TableSchema schema;
  std::optional<DropMark> drop;  // absent: not dropped
};

// For a table that is not dropped the bytes are those of encode_schema().
std::string encode_table_state(const TableSchema& schema, const std::optional<DropMark>& drop);
// DATA_LOSS for invalid bytes; FAILED_PRECONDITION for another version.
Result<TableState> decode_table_state(Bytes encoded);

}  // namespace cellar::engine
