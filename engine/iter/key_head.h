// The first eight bytes of a key as a number with the same order, stored beside a pointer to the
// key so that most comparisons do not read the key.
#pragma once

#include <cstdint>

#include "io/base/bytes.h"
#include "io/base/coding.h"

namespace cellar::engine {

// A shorter key is padded with zeros: unequal heads decide, equal heads do not.
inline uint64_t key_head(Bytes key) {
  if (key.size() >= 8) return load_be64(key.data());
  char padded[8] = {};
  std::memcpy(padded, key.data(), key.size());
  return load_be64(padded);
}

}  // namespace cellar::engine
