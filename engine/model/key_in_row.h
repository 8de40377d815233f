// Parsing of keys of which a part is already known, without reading those bytes again: reading a
// key that was just assembled is slow.
#pragma once

#include "engine/model/key.h"

namespace cellar {

struct KeyInRow : ParsedKey {
  bool plain_qualifier = false;  // nothing in it is escaped
};

// Like parse_key, for a key that starts with a `row 00 01` of this length.
bool parse_key_in_row(Bytes key, size_t row_prefix_bytes, KeyInRow& out);

// Like row_prefix_size; `plain`: nothing in the row is escaped.
size_t row_prefix_size(Bytes key, bool& plain);

}  // namespace cellar
