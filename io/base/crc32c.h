// CRC-32C (Castagnoli): hardware instructions if the build has SSE4.2, a table otherwise. Check
// value: "123456789" -> e3069283.
#pragma once

#include <cstdint>

#include "io/base/bytes.h"

namespace cellar {

// Continues the CRC `seed` (0 to start) over `data`: crc32c(b, crc32c(a)) == crc32c(a + b).
uint32_t crc32c(Bytes data, uint32_t seed = 0);

// A seed that binds a checksum to a place, so that a valid block at the wrong place is detected: a
// hash of the owner (log id, blob id) and the offset.
uint32_t crc_seed(uint64_t owner, uint64_t offset);

// The table-driven implementation, exposed so that a test can compare both.
uint32_t crc32c_portable(Bytes data, uint32_t seed);

}  // namespace cellar
