// Prefix test for neighbours in key order: they usually differ near the prefix's end, so the end is
// compared first, in words and inline.
#pragma once

#include <cstdint>

#include "io/base/bytes.h"
#include "io/base/coding.h"

namespace cellar::engine {

inline bool begins_with(Bytes key, Bytes prefix) {
  const size_t n = prefix.size();
  if (key.size() < n) return false;
  const char* a = key.data();
  const char* b = prefix.data();
  if (n < 8) {
    for (size_t i = 0; i < n; ++i)
      if (a[i] != b[i]) return false;
    return true;
  }
  if (load_le<uint64_t>(a + n - 8) != load_le<uint64_t>(b + n - 8)) return false;
  for (size_t i = 0; i + 8 < n; i += 8)
    if (load_le<uint64_t>(a + i) != load_le<uint64_t>(b + i)) return false;
  return true;
}

}  // namespace cellar::engine
