// Numbers in file names: a fixed number of lower-case hexadecimal digits.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cellar::engine {

inline std::optional<uint64_t> parse_hex(std::string_view text, size_t digits) {
  if (text.size() != digits) return std::nullopt;
  for (char c : text) {
    if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f')) return std::nullopt;
  }
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace cellar::engine
