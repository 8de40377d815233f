// Fixed little-endian, big-endian (for sortable keys) and LEB128 integers, and a bounds-checked
// reader.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include "io/base/bytes.h"

namespace cellar {

static_assert(std::endian::native == std::endian::little,
              "the fixed codings assume a little-endian machine");

template <class T>
T load_le(const char* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
void store_le(char* p, T v) {
  std::memcpy(p, &v, sizeof v);
}
inline uint64_t load_be64(const char* p) { return std::byteswap(load_le<uint64_t>(p)); }

inline void put_u8(std::string& out, uint8_t v) { out.push_back(static_cast<char>(v)); }
inline void put_u16(std::string& out, uint16_t v) {
  out.append(reinterpret_cast<const char*>(&v), sizeof v);
}
inline void put_u32(std::string& out, uint32_t v) {
  out.append(reinterpret_cast<const char*>(&v), sizeof v);
}
inline void put_u64(std::string& out, uint64_t v) {
  out.append(reinterpret_cast<const char*>(&v), sizeof v);
}
inline void put_be64(std::string& out, uint64_t v) { put_u64(out, std::byteswap(v)); }

inline void put_varint(std::string& out, uint64_t v) {
  while (v >= 0x80) {
    out.push_back(static_cast<char>(v | 0x80));
    v >>= 7;
  }
  out.push_back(static_cast<char>(v));
}
inline uint64_t zigzag(int64_t v) {
  return (static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63);
}
inline int64_t unzigzag(uint64_t v) {
  return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1);
}

// Appends bytes with a varint length prefix.
inline void put_bytes(std::string& out, Bytes b) {
  put_varint(out, b.size());
  out.append(b);
}

// Reads from borrowed bytes. After the first short or malformed field ok() stays false and every
// read returns zero or empty, so a decoder reads all its fields and checks ok() once.
class Reader {
 public:
  explicit Reader(Bytes in) : p_(in.data()), end_(in.data() + in.size()) {}

  bool ok() const { return ok_; }
  bool at_end() const { return p_ == end_; }
  size_t remaining() const { return static_cast<size_t>(end_ - p_); }
  Bytes rest() const { return {p_, remaining()}; }

  uint8_t u8() { return fixed<uint8_t>(); }
  uint16_t u16() { return fixed<uint16_t>(); }
  uint32_t u32() { return fixed<uint32_t>(); }
  uint64_t u64() { return fixed<uint64_t>(); }
  uint64_t be64() { return std::byteswap(fixed<uint64_t>()); }

  uint64_t varint() {
    if (remaining() >= 8) {
      const auto word = load_le<uint64_t>(p_);
      const uint64_t ends = ~word & 0x8080808080808080;
      if (ends != 0) return fold_varint(word, ends);
    }
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (p_ == end_) return fail();
      const auto byte = static_cast<uint8_t>(*p_++);
      if (shift == 63 && byte > 1) return fail();
      v |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return v;
    }
    return fail();
  }
  int64_t signed_varint() { return unzigzag(varint()); }

  // The result points into the input.
  Bytes take(size_t n) {
    if (!ok_ || n > remaining()) return fail(), Bytes();
    Bytes b(p_, n);
    p_ += n;
    return b;
  }
  Bytes bytes() { return take(varint()); }

 private:
  template <class T>
  T fixed() {
    if (!ok_ || remaining() < sizeof(T)) return static_cast<T>(fail());
    const T v = load_le<T>(p_);
    p_ += sizeof(T);
    return v;
  }
  // Decodes a varint of up to 8 bytes from the low end of `word`; `ends` has the top bit of each
  // byte that may end it.
  uint64_t fold_varint(uint64_t word, uint64_t ends) {
    p_ += std::countr_zero(ends) / 8 + 1;
    uint64_t v = word & (ends ^ (ends - 1)) & 0x7f7f7f7f7f7f7f7f;
    v = (v & 0x007f007f007f007f) | (v & 0x7f007f007f007f00) >> 1;
    v = (v & 0x00003fff00003fff) | (v & 0x3fff00003fff0000) >> 2;
    return (v & 0x000000000fffffff) | (v & 0x0fffffff00000000) >> 4;
  }
  uint64_t fail() {
    ok_ = false;
    p_ = end_;
    return 0;
  }

  const char* p_;
  const char* end_;
  bool ok_ = true;
};

}  // namespace cellar
