// Taking keys apart where something of them is known already, without looking twice at their bytes:
// a key that was just put together is slow to look at.
#pragma once

#include "engine/model/key.h"

namespace cellar {

struct KeyInRow : ParsedKey {
  bool plain_qualifier = false;  // nothing in it is escaped
};

// As parse_key, of a key that begins with `row 00 01` of so many bytes.
bool parse_key_in_row(Bytes key, size_t row_prefix_bytes, KeyInRow& out);

// As row_prefix_size; `plain`: nothing in the row is escaped.
size_t row_prefix_size(Bytes key, bool& plain);

}  // namespace cellar
