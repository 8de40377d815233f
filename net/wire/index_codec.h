// Decodes a read through an index from a verified body.
#pragma once

#include <string_view>

#include "engine/model/index_read_spec.h"
#include "io/base/result.h"
#include "net/wire/body.h"
#include "net/wire/filter_codec.h"

namespace cellar::wire {

struct DecodedIndexRead {
  std::string_view table;  // empty: the header has the id
  IndexReadSpec spec;      // the filter is separate
  FilterSpec filter;
  uint64_t limit = 0;    // of hits, or of rows with spec.whole_rows; 0: none
  uint32_t credits = 0;  // at least 1
};

// INVALID_ARGUMENT: `value` beside `values`, `qualifier` beside `qualifiers`, a filter without
// whole_rows or an invalid one, a limit below 1, a malformed range or row, anything outside the
// arena. What depends on the index is checked by validate_index_read().
Result<void> decode(const fb::ReadIndexRequest& request, DecodedIndexRead& out);

}  // namespace cellar::wire
