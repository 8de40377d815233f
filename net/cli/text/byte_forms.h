// Keys and values in the forms that people and files write bytes in.
#pragma once

#include <string>
#include <string_view>

#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar::cli {

// utf8 is valid UTF-8 as it is, the rest escaped as C does; int64 a decimal number for eight bytes,
// most significant first, as increments write them.
enum class BytesForm : uint8_t { utf8, hex, base64, int64 };
Result<BytesForm> parse_bytes_form(std::string_view option, std::string_view name);
std::string_view form_name(BytesForm form);

// As a terminal or a field of a file shows it. What is no int64 is "hex:...", which from_form()
// takes back.
std::string shown(Bytes b, BytesForm form);
// The inverse of shown(). INVALID_ARGUMENT names what is wrong.
Result<std::string> from_form(std::string_view text, BytesForm form);

// A word of the command line: text as it is (with `escaped`: unescaped), or bytes behind a prefix:
// hex:00ff, base64:AP8=, int64:-5, esc:a\x00b, raw:hex: (the prefix itself is meant).
Result<std::string> parse_bytes(std::string_view word, bool escaped);

Result<std::string> from_hex(std::string_view text);
std::string be64(int64_t value);

}  // namespace cellar::cli
