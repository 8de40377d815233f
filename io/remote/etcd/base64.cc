#include "io/remote/etcd/base64.h"

#include <array>
#include <cstdint>

namespace cellar::etcd {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kNone = 64;

constexpr std::array<uint8_t, 256> make_values() {
  std::array<uint8_t, 256> values{};
  values.fill(kNone);
  for (size_t i = 0; i < kAlphabet.size(); ++i) {
    values[static_cast<uint8_t>(kAlphabet[i])] = static_cast<uint8_t>(i);
  }
  return values;
}
constexpr std::array<uint8_t, 256> kValues = make_values();

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < bytes.size() ? static_cast<uint8_t>(bytes[i + j]) : 0U);
    }
    const size_t digits = std::min<size_t>(bytes.size() - i, 3) + 1;
    for (size_t j = 0; j < 4; ++j) {
      text += j < digits ? kAlphabet[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  const size_t digits = text.size() - padding;
  for (size_t i = 0; i < text.size(); i += 4) {
    uint32_t group = 0;
    for (size_t j = 0; j < 4; ++j) {
      const uint8_t value = i + j < digits ? kValues[static_cast<uint8_t>(text[i + j])] : 0;
      if (value == kNone) return std::nullopt;
      group = group << 6 | value;
    }
    for (size_t j = 0; j < 3 && i + j + 1 < digits; ++j) {
      bytes += static_cast<char>(group >> (16 - 8 * j));
    }
  }
  return bytes;
}

}  // namespace cellar::etcd
