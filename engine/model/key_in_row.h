// parse_key for a key whose row is known already.
#pragma once

#include "engine/model/key.h"

namespace cellar {

// As parse_key, of a key that begins with `row 00 01` of so many bytes.
bool parse_key_in_row(Bytes key, size_t row_prefix_bytes, ParsedKey& out);

}  // namespace cellar
