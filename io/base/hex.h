// Hexadecimal digits.
#pragma once

#include <string>

#include "io/base/bytes.h"

namespace cellar {

// The value of a digit of either case; -1 for another character.
constexpr int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Two lower-case digits a byte.
std::string to_hex(Bytes bytes);

}  // namespace cellar
