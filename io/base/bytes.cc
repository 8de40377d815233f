#include "io/base/bytes.h"

#include <fmt/format.h>

namespace cellar {

std::string prefix_successor(Bytes prefix) {
  std::string key(prefix);
  while (!key.empty() && static_cast<unsigned char>(key.back()) == 0xff) key.pop_back();
  if (!key.empty()) key.back() = static_cast<char>(static_cast<unsigned char>(key.back()) + 1);
  return key;
}

std::string escape_bytes(Bytes b, size_t max_bytes) {
  std::string out;
  for (size_t i = 0; i < b.size(); ++i) {
    if (i == max_bytes) return out + "...";
    const auto c = static_cast<unsigned char>(b[i]);
    switch (c) {
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '"':
        out += "\\\"";
        break;
      default:
        if (c >= 0x20 && c < 0x7f) {
          out += static_cast<char>(c);
        } else {
          out += fmt::format("\\x{:02x}", c);
        }
    }
  }
  return out;
}

}  // namespace cellar
