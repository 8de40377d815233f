// What the manifest says of a table: its schema, and of one that was dropped and can still be
// restored also when it was dropped and until when. See FORMATS.md, "Manifest".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/model/schema.h"
#include "io/base/result.h"

namespace cellar::engine {

struct DropMark {
  int64_t dropped_us = 0;           // trusted time
  int64_t restorable_until_us = 0;  // the last microsecond of it

  bool operator==(const DropMark&) const = default;
};

struct TableState {
  TableSchema schema;
  std::optional<DropMark> drop;  // absent: the table is there
};

// Of a table that is there the bytes are those of encode_schema(). A program that does not know
// dropped tables takes theirs for a schema of a newer format, and refuses the manifest.
std::string encode_table_state(const TableSchema& schema, const std::optional<DropMark>& drop);
// DATA_LOSS for bytes that are none; FAILED_PRECONDITION for those of a newer program.
Result<TableState> decode_table_state(Bytes encoded);

}  // namespace cellar::engine
