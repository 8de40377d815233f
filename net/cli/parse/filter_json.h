// JSON notation of filters: one key per filter.
//
//   {"chain": [{"family_regex": "install"}, {"cells_per_column": 1}]}
//   {"condition": {"if": {"value_regex": "2\\..*"}, "then": {"pass": true}}}
//
// pass, block, sink, strip_value: true. row_regex, family_regex, qualifier_regex, value_regex,
// value_bitmask, label: a string. cells_per_row, cells_per_row_offset, cells_per_column,
// row_sample: a number. time_range {start, end}: microseconds, or strings in the format of times.h.
// value_range {start, end, start_open, end_closed}; column_range the same with "family". chain,
// interleave: a list. condition {if, then, else}. {"hex": "00ff"} may replace a string of bytes.
#pragma once

#include <string_view>

#include "io/base/result.h"
#include "net/client/api/filter.h"

namespace cellar::cli {

// INVALID_ARGUMENT names the invalid part. The node validates the meaning.
Result<client::Filter> parse_filter_json(std::string_view text, int64_t now_us);

}  // namespace cellar::cli
