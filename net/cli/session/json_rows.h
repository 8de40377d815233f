// Rows as JSON lines, writer and parser:
//
//   {"row":"libc6","cells":[{"family":"install","qualifier":"amd64","timestamp":1763712000000000,
//    "value":"2.36-9"}]}
//
// A cell with its own expiry has "expire_at", in microseconds. Bytes that are not valid UTF-8 are
// stored under the name with _base64 appended ("row_base64", ...). Row keys and values may also be
// "row_hex" and, for eight bytes as a number, "value_int64".
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
  BytesForm other = BytesForm::utf8;  // for families, qualifiers, labels
  BytesForm value = BytesForm::utf8;
};

// `"name":"text"` or `"name_base64":"..."`; in the other forms `"name_hex":"..."` and so on.
std::string json_field(std::string_view name, Bytes bytes, BytesForm form = BytesForm::utf8);
std::string json_string(std::string_view text);  // quoted and escaped; REQUIRES: UTF-8

// "[a,b]": `one` writes each element.
template <class All, class One>
std::string json_list(const All& all, One one) {
  std::string out = "[";
  for (const auto& each : all) out += (out.size() > 1 ? "," : "") + one(each);
  return out + "]";
}

std::string json_row(Bytes key, std::span<const client::Cell> cells, const JsonForms& forms = {});
// The same in pieces, appended to `out`: the head, each cell, and "]}" at the end.
void begin_json_row(std::string& out, Bytes key, const JsonForms& forms);
// `more`: additional members of the cell, each with a leading comma.
void add_json_cell(std::string& out, const client::Cell& cell, bool first, const JsonForms& forms,
                   std::string_view more = {});

// Parses a line into a mutation that writes it. Cells without a timestamp get `at_us`, if set.
// INVALID_ARGUMENT describes the fault.
Result<client::Mutation> parse_json_row(std::string_view line, std::optional<int64_t> at_us);

}  // namespace cellar::cli
