// Bytes: a borrowed byte string. It is std::string_view, whose comparison is unsigned and
// lexicographic (char_traits<char>::lt compares as unsigned char): the key order of SEMANTICS 1.
// Owning types are std::string and the buffer classes.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace cellar {

using Bytes = std::string_view;

inline std::span<const std::byte> as_byte_span(Bytes b) {
  return std::as_bytes(std::span(b.data(), b.size()));
}
inline Bytes as_bytes_view(std::span<const std::byte> s) {
  return {reinterpret_cast<const char*>(s.data()), s.size()};
}

inline size_t common_prefix(Bytes a, Bytes b) {
  const size_t n = a.size() < b.size() ? a.size() : b.size();
  size_t i = 0;
  while (i < n && a[i] == b[i]) ++i;
  return i;
}

// The least key greater than every key that starts with `prefix`; empty if there is none (all
// 0xff).
std::string prefix_successor(Bytes prefix);

// C-style escapes for display: printable ASCII as is, \n \t \\ \" by name, other bytes as \xHH.
// Longer input is cut at max_bytes and ends in "...".
std::string escape_bytes(Bytes b, size_t max_bytes = 64);

}  // namespace cellar
