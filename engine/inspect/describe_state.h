// Manifest entries in words, one sentence a line: what the bytes of a state or an item say.
#pragma once

#include <string>
#include <vector>

#include "engine/model/schema.h"
#include "engine/store/manifest_store.h"
#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar::engine {

// "table 3", "tablet 7", "node".
std::string key_text(ManifestKey key);

// DATA_LOSS or FAILED_PRECONDITION if the bytes cannot be decoded.
Result<std::vector<std::string>> describe_state(ManifestKey key, Bytes state);
// A table on disk of a tablet, or an entry of the audit trail.
Result<std::string> describe_item(ManifestKey key, uint64_t item, Bytes value);

// "click: maxage=2d; timestamps time; born dead refuse; undo 1d; made at stamp 5".
std::string describe_family(const FamilySchema& family);
// "[\"a\", \"m\")", where an empty end is the end of the table.
std::string rows_text(Bytes start, Bytes end);

}  // namespace cellar::engine
