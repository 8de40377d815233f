// Conversion of bytes to text and back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar::cli {

bool is_utf8(Bytes b);  // well-formed, shortest form, no surrogates
// Control characters, the backslash and bytes that are not valid UTF-8 as \n, \t, \r, \\, \xHH;
// never cut.
std::string escaped(Bytes b);
// The inverse; INVALID_ARGUMENT for an unknown escape.
Result<std::string> unescaped(std::string_view text);

std::string to_base64(Bytes b);
Result<std::string> from_base64(std::string_view text);

// The lines of a table to print, cell by cell.
using Lines = std::vector<std::vector<std::string>>;
// Terminal columns of valid UTF-8, one per code point.
size_t display_width(std::string_view text);

std::string with_commas(uint64_t n);  // 12,345
// "1 row", "12,345 rows".
std::string counted(uint64_t n, std::string_view noun);
std::string human_bytes(uint64_t bytes);  // 12.3 MiB

}  // namespace cellar::cli
