// Read requests, from the verified body to a ReadSpec.
#pragma once

#include <string_view>

#include "engine/model/read_spec.h"
#include "io/base/result.h"
#include "net/wire/body.h"
#include "net/wire/filter_codec.h"

namespace cellar::wire {

struct DecodedRead {
  std::string_view table;  // empty: named by id in the header
  ReadSpec spec;           // rows, order and row limit; the filter is apart
  FilterSpec filter;
  uint32_t credits = 0;  // at least 1 for a stream
};

// Refusals are INVALID_ARGUMENT: an empty or overlong key, a range that ends before it starts, a
// filter that cannot be, anything outside the arena.
Result<void> decode(const fb::ReadRowRequest& request, DecodedRead& out);
Result<void> decode(const fb::ReadRowsRequest& request, DecodedRead& out);

}  // namespace cellar::wire
