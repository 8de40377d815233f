// Decoding of the numbers before an entry of a data block (block_writer.h).
#pragma once

#include <cstdint>

#include "io/base/bytes.h"

namespace cellar::engine {

struct BlockEntry {
  uint32_t shared;
  uint32_t unshared;
  uint32_t value;
};

// Null if there is no such number before `limit`.
inline const char* get_varint32(const char* p, const char* limit, uint32_t& v) {
  if (p < limit && static_cast<uint8_t>(*p) < 0x80) {
    v = static_cast<uint8_t>(*p);
    return p + 1;
  }
  v = 0;
  for (unsigned shift = 0; shift < 35 && p < limit; shift += 7) {
    const auto byte = static_cast<uint8_t>(*p++);
    if (shift == 28 && byte > 0x0f) return nullptr;
    v |= static_cast<uint32_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return p;
  }
  return nullptr;
}

// Returns the position of the key's unshared bytes; null if the entry exceeds `limit`.
inline const char* decode_entry(const char* p, const char* limit, BlockEntry& entry) {
  // The common case: three bytes.
  if (limit - p >= 3 && ((p[0] | p[1] | p[2]) & 0x80) == 0) {
    entry = {static_cast<uint8_t>(p[0]), static_cast<uint8_t>(p[1]), static_cast<uint8_t>(p[2])};
    p += 3;
    return size_t{entry.unshared} + entry.value <= static_cast<size_t>(limit - p) ? p : nullptr;
  }
  if ((p = get_varint32(p, limit, entry.shared)) == nullptr) return nullptr;
  if ((p = get_varint32(p, limit, entry.unshared)) == nullptr) return nullptr;
  if ((p = get_varint32(p, limit, entry.value)) == nullptr) return nullptr;
  const uint64_t wanted = uint64_t{entry.unshared} + entry.value;
  return wanted <= static_cast<uint64_t>(limit - p) ? p : nullptr;
}

}  // namespace cellar::engine
