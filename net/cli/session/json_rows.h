// Rows as lines of JSON, written and read:
//
//   {"row":"libc6","cells":[{"family":"install","qualifier":"amd64","timestamp":1763712000000000,
//    "value":"2.36-9"}]}
//
// A cell that expires by itself has "expire_at", in microseconds.
// Bytes that are not UTF-8 stand under the name with _base64 behind it ("row_base64", ...). Row
// keys and values may also be written as "row_hex" and, eight bytes as a number, "value_int64".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "net/cli/text/byte_forms.h"
#include "net/client/api/cells.h"
#include "net/client/api/mutation.h"

namespace cellar::cli {

struct JsonForms {
  BytesForm key = BytesForm::utf8;
  BytesForm other = BytesForm::utf8;  // families, qualifiers, labels
  BytesForm value = BytesForm::utf8;
};

// `"name":"text"` or `"name_base64":"..."`; in the other forms `"name_hex":"..."` and so on.
std::string json_field(std::string_view name, Bytes bytes, BytesForm form = BytesForm::utf8);
std::string json_string(std::string_view text);  // quoted and escaped; REQUIRES: UTF-8

std::string json_row(Bytes key, std::span<const client::Cell> cells, const JsonForms& forms = {});
// The same in pieces, behind what `out` holds: the head, each cell, and "]}" to end it.
void begin_json_row(std::string& out, Bytes key, const JsonForms& forms);
// `more`: members that the cell has beside its own, each with its comma in front.
void add_json_cell(std::string& out, const client::Cell& cell, bool first, const JsonForms& forms,
                   std::string_view more = {});

// A line as above, as a mutation that writes it. Cells without a timestamp get `at_us` if there is
// one. INVALID_ARGUMENT says what is wrong with the line.
Result<client::Mutation> parse_json_row(std::string_view line, std::optional<int64_t> at_us);

}  // namespace cellar::cli
