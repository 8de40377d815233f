// CRC-32C (Castagnoli), in hardware where the build has SSE4.2, else by table. Check value:
// "123456789" -> e3069283.
#pragma once

#include <cstdint>

#include "io/base/bytes.h"

namespace cellar {

// The CRC of `data` continued from `seed`, itself a CRC (0 for none): crc32c(b, crc32c(a)) ==
// crc32c(a + b).
uint32_t crc32c(Bytes data, uint32_t seed = 0);

// A seed that ties a checksum to a place, so that a right block in the wrong place is found: a hash
// of the owner (log id, blob id) and the offset.
uint32_t crc_seed(uint64_t owner, uint64_t offset);

// The table-driven body, kept callable so that a test can hold the two bodies against each other.
uint32_t crc32c_portable(Bytes data, uint32_t seed);

}  // namespace cellar
