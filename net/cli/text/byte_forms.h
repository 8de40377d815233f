// Text forms of keys and values.
#pragma once

#include <string>
#include <string_view>

#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar::cli {

// utf8: valid UTF-8 as is, other bytes as C escapes. int64: a decimal number for eight bytes, most
// significant first, as increments write them.
enum class BytesForm : uint8_t { utf8, hex, base64, int64 };
Result<BytesForm> parse_bytes_form(std::string_view option, std::string_view name);
std::string_view form_name(BytesForm form);

// For terminals and file fields. Bytes that are not an int64 become "hex:...", which from_form()
// accepts.
std::string shown(Bytes b, BytesForm form);
// The inverse of shown(). INVALID_ARGUMENT describes the fault.
Result<std::string> from_form(std::string_view text, BytesForm form);

// Parses a word of the command line: text as is (with `escaped`: unescaped), or bytes after a
// prefix: hex:00ff, base64:AP8=, int64:-5, esc:a\x00b, raw:hex: (raw: takes the rest literally).
Result<std::string> parse_bytes(std::string_view word, bool escaped);

Result<std::string> from_hex(std::string_view text);
std::string be64(int64_t value);

}  // namespace cellar::cli
