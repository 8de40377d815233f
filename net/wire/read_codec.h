// Decodes read requests from a verified body into a ReadSpec.
#pragma once

#include <string_view>

#include "engine/model/read_spec.h"
#include "io/base/result.h"
#include "net/wire/body.h"
#include "net/wire/filter_codec.h"

namespace cellar::wire {

struct DecodedRead {
  std::string_view table;  // empty: the header has the id
  ReadSpec spec;           // rows, order and row limit; the filter is separate
  FilterSpec filter;
  uint32_t credits = 0;  // at least 1 for a stream
};

// The rows of a request: of `keys` and `ranges` the union; both absent: every row. INVALID_ARGUMENT
// as below.
Result<void> decode_rows(const flatbuffers::Vector<const fb::Span*>* keys,
                         const flatbuffers::Vector<const fb::RangeRec*>* ranges, Bytes arena,
                         RowSet& out);

// INVALID_ARGUMENT for an empty or overlong key, a range that ends before it starts, an invalid
// filter, or anything outside the arena.
Result<void> decode(const fb::ReadRowRequest& request, DecodedRead& out);
Result<void> decode(const fb::ReadRowsRequest& request, DecodedRead& out);

}  // namespace cellar::wire
