// Rows as lines of JSON, written and read:
//
//   {"row":"libc6","cells":[{"family":"install","qualifier":"amd64","timestamp":1763712000000000,
//    "value":"2.36-9"}]}
//
// Bytes that are not UTF-8 stand under the name with _base64 behind it ("row_base64", ...).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "net/client/cells.h"
#include "net/client/mutation.h"

namespace cellar::cli {

// `"name":"text"` or `"name_base64":"..."`.
std::string json_field(std::string_view name, Bytes bytes);
std::string json_string(std::string_view text);  // quoted and escaped; REQUIRES: UTF-8

std::string json_row(Bytes key, std::span<const client::Cell> cells);

// A line as above, as a mutation that writes it. Cells without a timestamp get `at_us` if there is
// one. INVALID_ARGUMENT says what is wrong with the line.
Result<client::Mutation> parse_json_row(std::string_view line, std::optional<int64_t> at_us);

}  // namespace cellar::cli
