#include "net/cli/text/byte_forms.h"

#include <charconv>

#include "io/base/coding.h"
#include "io/base/hex.h"
#include "net/cli/text/text.h"

namespace cellar::cli {

namespace {

constexpr std::string_view kHexPrefix = "hex:";

Result<std::string> from_int64(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return fail(Errc::invalid_argument, "'{}' is not a 64-bit number", text.substr(0, 40));
  }
  return be64(value);
}

}  // namespace

Result<BytesForm> parse_bytes_form(std::string_view option, std::string_view name) {
  for (const BytesForm form :
       {BytesForm::utf8, BytesForm::hex, BytesForm::base64, BytesForm::int64}) {
    if (form_name(form) == name) return form;
  }
  return fail(Errc::invalid_argument, "{} {} is none of utf8, hex, base64, int64", option, name);
}

std::string_view form_name(BytesForm form) {
  switch (form) {
    case BytesForm::hex:
      return "hex";
    case BytesForm::base64:
      return "base64";
    case BytesForm::int64:
      return "int64";
    case BytesForm::utf8:
      break;
  }
  return "utf8";
}

std::string shown(Bytes b, BytesForm form) {
  if (form == BytesForm::hex) return to_hex(b);
  if (form == BytesForm::base64) return to_base64(b);
  if (form == BytesForm::utf8) return escaped(b);
  if (b.size() != sizeof(int64_t)) return std::string(kHexPrefix) + to_hex(b);
  return fmt::format("{}", static_cast<int64_t>(load_be64(b.data())));
}

Result<std::string> from_form(std::string_view text, BytesForm form) {
  if (form == BytesForm::hex) return from_hex(text);
  if (form == BytesForm::base64) return from_base64(text);
  if (form == BytesForm::utf8) return unescaped(text);
  if (text.starts_with(kHexPrefix)) return from_hex(text.substr(kHexPrefix.size()));
  return from_int64(text);
}

Result<std::string> parse_bytes(std::string_view word, bool escaped_text) {
  const size_t colon = word.find(':');
  if (colon != word.npos) {
    const std::string_view prefix = word.substr(0, colon);
    const std::string_view rest = word.substr(colon + 1);
    if (prefix == "raw") return std::string(rest);
    if (prefix == "esc") return unescaped(rest);
    for (const BytesForm form : {BytesForm::hex, BytesForm::base64, BytesForm::int64}) {
      if (prefix != form_name(form)) continue;
      auto bytes = form == BytesForm::int64 ? from_int64(rest) : from_form(rest, form);
      if (!bytes) {
        return fail(Errc::invalid_argument, "{} (the text itself is raw:{})", bytes.error().message,
                    word);
      }
      return bytes;
    }
  }
  if (escaped_text) return unescaped(word);
  return std::string(word);
}

Result<std::string> from_hex(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_digit(text[i]);
    const int low = i + 1 < text.size() ? hex_digit(text[i + 1]) : -1;
    if (high < 0 || low < 0) {
      return fail(Errc::invalid_argument, "'{}' is not pairs of hexadecimal digits",
                  text.substr(0, 40));
    }
    out += static_cast<char>(high * 16 + low);
  }
  return out;
}

std::string be64(int64_t value) {
  std::string out;
  put_be64(out, static_cast<uint64_t>(value));
  return out;
}

}  // namespace cellar::cli
