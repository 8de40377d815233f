#include "bench/load/hdr_log.h"

#include <openssl/evp.h>

#include <bit>
#include <span>

#include <boost/beast/zlib/deflate_stream.hpp>

#include "io/base/check.h"

namespace cellar::bench {
namespace {

constexpr uint32_t kCookie = 0x1c849313;            // V2, words of up to 64 bits
constexpr uint32_t kCompressedCookie = 0x1c849314;  // V2, deflated

template <class T>
void put_big_endian(std::string& out, T value) {
  for (int shift = 8 * (sizeof(T) - 1); shift >= 0; shift -= 8)
    out += static_cast<char>(static_cast<uint64_t>(value) >> shift);
}

// ZigZag and LEB128 in at most 9 bytes, the last of which has 8 bits.
void put_zigzag(std::string& out, int64_t value) {
  uint64_t rest = (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
  for (int byte = 0; byte < 8; ++byte) {
    if (rest < 0x80) {
      out += static_cast<char>(rest);
      return;
    }
    out += static_cast<char>(rest | 0x80);
    rest >>= 7;
  }
  out += static_cast<char>(rest);
}

uint32_t adler32(const std::string& bytes) {
  uint32_t a = 1;
  uint32_t b = 0;
  for (unsigned char c : bytes) {
    a = (a + c) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

// The format of RFC 1950 around a raw deflate stream.
std::string zlib_stream(const std::string& plain) {
  namespace zlib = boost::beast::zlib;
  zlib::deflate_stream deflater;
  std::string raw(deflater.upper_bound(plain.size()) + 64, '\0');
  zlib::z_params z;
  z.next_in = plain.data();
  z.avail_in = plain.size();
  z.next_out = raw.data();
  z.avail_out = raw.size();
  boost::beast::error_code ec;
  deflater.write(z, zlib::Flush::finish, ec);
  CHECK(ec == zlib::error::end_of_stream, "deflate: {}", ec.message());
  std::string out = "\x78\x9c";
  out.append(raw, 0, z.total_out);
  put_big_endian(out, adler32(plain));
  return out;
}

std::string base64(const std::string& bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  out.resize(static_cast<size_t>(size));
  return out;
}

std::string encode_counts(std::span<const uint64_t> counts) {
  std::string out;
  size_t end = counts.size();
  while (end > 0 && counts[end - 1] == 0) --end;
  for (size_t i = 0; i < end;) {
    if (counts[i] != 0) {
      put_zigzag(out, static_cast<int64_t>(counts[i++]));
      continue;
    }
    const size_t first = i;
    while (counts[i] == 0) ++i;
    put_zigzag(out, -static_cast<int64_t>(i - first));  // a run of zeros
  }
  return out;
}

}  // namespace

std::string encode_hdr(const Histogram& histogram) {
  const std::string counts = encode_counts(histogram.counts());
  std::string plain;
  put_big_endian(plain, kCookie);
  put_big_endian(plain, static_cast<uint32_t>(counts.size()));
  put_big_endian(plain, uint32_t{0});  // normalizing index offset
  put_big_endian(plain, uint32_t{3});  // significant digits
  put_big_endian(plain, uint64_t{1});  // lowest discernible value
  put_big_endian(plain, Histogram::kMaxValue);
  put_big_endian(plain, std::bit_cast<uint64_t>(1.0));  // ratio of integers to values
  plain += counts;
  const std::string packed = zlib_stream(plain);
  std::string out;
  put_big_endian(out, kCompressedCookie);
  put_big_endian(out, static_cast<uint32_t>(packed.size()));
  return base64(out + packed);
}

}  // namespace cellar::bench
