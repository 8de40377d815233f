#include "io/base/crc32c.h"

#include <array>

#include "io/base/coding.h"
#ifdef __SSE4_2__
#include <nmmintrin.h>
#endif

namespace cellar {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // Castagnoli polynomial, bit-reversed

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kPolynomial : 0);
    table[i] = crc;
  }
  return table;
}
constexpr auto kTable = make_table();

}  // namespace

uint32_t crc32c_portable(Bytes data, uint32_t seed) {
  uint32_t crc = ~seed;
  for (char c : data) crc = kTable[(crc ^ static_cast<uint8_t>(c)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

#ifdef __SSE4_2__
uint32_t crc32c(Bytes data, uint32_t seed) {
  uint64_t crc = static_cast<uint32_t>(~seed);
  const char* p = data.data();
  size_t n = data.size();
  for (; n >= 8; p += 8, n -= 8) crc = _mm_crc32_u64(crc, load_le<uint64_t>(p));
  auto crc32 = static_cast<uint32_t>(crc);
  for (; n > 0; ++p, --n) crc32 = _mm_crc32_u8(crc32, static_cast<uint8_t>(*p));
  return ~crc32;
}
#else
uint32_t crc32c(Bytes data, uint32_t seed) { return crc32c_portable(data, seed); }
#endif

uint32_t crc_seed(uint64_t owner, uint64_t offset) {
  char buffer[16];
  store_le(buffer, owner);
  store_le(buffer + 8, offset);
  return crc32c(Bytes(buffer, sizeof buffer));
}

}  // namespace cellar
