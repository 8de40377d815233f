#include "net/cli/text/text.h"

#include <array>
#include <cstring>

#include "io/base/hex.h"

namespace cellar::cli {

namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Length of the well-formed character at the start of `b`; 0 if there is none.
size_t character(Bytes b) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(b[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  size_t n = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xbf;
  if (first >= 0xc2 && first <= 0xdf) {
    n = 2;
  } else if (first >= 0xe0 && first <= 0xef) {
    n = 3;
    if (first == 0xe0) low = 0xa0;   // shorter forms exist
    if (first == 0xed) high = 0x9f;  // surrogates
  } else if (first >= 0xf0 && first <= 0xf4) {
    n = 4;
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f;  // past U+10FFFF
  }
  if (n == 0 || b.size() < n || at(1) < low || at(1) > high) return 0;
  for (size_t i = 2; i < n; ++i) {
    if (at(i) < 0x80 || at(i) > 0xbf) return 0;
  }
  return n;
}

}  // namespace

bool is_utf8(Bytes b) {
  while (!b.empty()) {
    // Eight bytes of ASCII at a time, the common case.
    uint64_t eight = 0;
    if (b.size() >= sizeof eight) {
      std::memcpy(&eight, b.data(), sizeof eight);
      if ((eight & 0x8080808080808080) == 0) {
        b.remove_prefix(sizeof eight);
        continue;
      }
    }
    const size_t n = character(b);
    if (n == 0) return false;
    b.remove_prefix(n);
  }
  return true;
}

std::string escaped(Bytes b) {
  std::string out;
  while (!b.empty()) {
    const size_t n = character(b);
    const auto c = static_cast<unsigned char>(b[0]);
    const Bytes whole = b.substr(0, n == 0 ? 1 : n);
    // U+0080 to U+009F: a terminal obeys them as it obeys ESC.
    const bool c1 = n == 2 && c == 0xc2 && static_cast<unsigned char>(b[1]) < 0xa0;
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\\') {
      out += "\\\\";
    } else if (n == 0 || c < 0x20 || c == 0x7f || c1) {
      for (const char byte : whole) {
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
      }
    } else {
      out.append(whole);
    }
    b.remove_prefix(whole.size());
  }
  return out;
}

Result<std::string> unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    const char c = ++i < text.size() ? text[i] : '\0';
    if (c == 'n') {
      out += '\n';
    } else if (c == 't') {
      out += '\t';
    } else if (c == 'r') {
      out += '\r';
    } else if (c == '\\' || c == '"' || c == '\'') {
      out += c;
    } else if (c == 'x' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
               hex_digit(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      return fail(Errc::invalid_argument, "'{}' has an escape other than \\n \\t \\r \\\\ \\xHH",
                  text);
    }
  }
  return out;
}

std::string to_base64(Bytes b) {
  std::string out;
  out.reserve((b.size() + 2) / 3 * 4);
  for (size_t i = 0; i < b.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < b.size() ? static_cast<unsigned char>(b[i + j]) : 0u);
    }
    for (size_t j = 0; j < 4; ++j) {
      out += i + j > b.size() ? '=' : kBase64[group >> (18 - 6 * j) & 63];
    }
  }
  return out;
}

Result<std::string> from_base64(std::string_view text) {
  // The value of each digit; 64: not a digit.
  static const std::array<uint8_t, 256> kValues = [] {
    std::array<uint8_t, 256> values;
    values.fill(64);
    for (size_t i = 0; i < kBase64.size(); ++i) {
      values[static_cast<unsigned char>(kBase64[i])] = static_cast<uint8_t>(i);
    }
    return values;
  }();
  while (text.ends_with('=')) text.remove_suffix(1);
  if (text.size() % 4 == 1) {  // a digit has six bits: one alone makes no byte
    return fail(Errc::invalid_argument, "'{}' is not base64: it has a digit too few or too many",
                text.substr(0, 40));
  }
  std::string out;
  out.reserve(text.size() * 3 / 4);
  uint32_t group = 0;
  unsigned bits = 0;
  for (const char c : text) {
    const uint32_t value = kValues[static_cast<unsigned char>(c)];
    if (value == 64) {
      return fail(Errc::invalid_argument, "'{}' is not base64", text.substr(0, 40));
    }
    group = group << 6 | value;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out += static_cast<char>(group >> bits & 0xff);
    }
  }
  return out;
}

size_t display_width(std::string_view text) {
  size_t width = 0;
  for (const char c : text) width += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return width;
}

std::string with_commas(uint64_t n) {
  std::string digits = fmt::format("{}", n);
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string counted(uint64_t n, std::string_view noun) {
  return fmt::format("{} {}{}", with_commas(n), noun, n == 1 ? "" : "s");
}

std::string human_bytes(uint64_t bytes) {
  static constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace cellar::cli
