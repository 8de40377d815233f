#include "net/server/accept/proxy_header.h"

#include <algorithm>
#include <array>

#include <boost/asio/ip/address.hpp>

#include "io/base/coding.h"
#include "io/base/crc32c.h"
#include "io/net/transport.h"

namespace cellar::server {
namespace {

namespace ip = boost::asio::ip;

constexpr uint8_t kVersion = 2;
enum Command : uint8_t { kLocal = 0, kProxy = 1 };
enum Family : uint8_t { kUnspecified = 0, kInet = 1, kInet6 = 2, kUnix = 3 };
enum Transport : uint8_t { kAnyTransport = 0, kStream = 1, kDatagram = 2 };
constexpr uint8_t kTlvCrc32c = 0x03;
constexpr size_t kTlvHeaderBytes = 3;

uint8_t byte_at(Bytes b, size_t at) { return static_cast<uint8_t>(b[at]); }
uint16_t big_endian16(Bytes b, size_t at) {
  return static_cast<uint16_t>(byte_at(b, at) << 8 | byte_at(b, at + 1));
}
uint32_t big_endian32(Bytes b) { return uint32_t{big_endian16(b, 0)} << 16 | big_endian16(b, 2); }

// Source and destination address, source and destination port.
constexpr std::array<size_t, 4> kAddressBytes = {0, 4 + 4 + 2 + 2, 16 + 16 + 2 + 2, 108 + 108};

template <class Address>
Result<std::string> source_of(Bytes addresses) {
  typename Address::bytes_type raw;
  std::copy_n(addresses.data(), raw.size(), reinterpret_cast<char*>(raw.data()));
  ip::address address{Address(raw)};
  if constexpr (std::is_same_v<Address, ip::address_v6>) {
    if (address.to_v6().is_v4_mapped()) {
      address = ip::make_address_v4(ip::v4_mapped, address.to_v6());
    }
  }
  if (address.is_loopback() || address.is_unspecified()) {
    return fail(Errc::invalid_argument,
                "PROXY header: it names {} as the client, which is no address of a client",
                address.to_string());
  }
  return format_address(address.to_string(), big_endian16(addresses, 2 * raw.size()));
}

// The checksum covers the whole header with its own four bytes as zeros.
bool crc_matches(Bytes whole, Bytes crc) {
  constexpr Bytes kZeros{"\0\0\0\0", 4};
  const auto at = static_cast<size_t>(crc.data() - whole.data());
  std::string zeroed(whole);
  zeroed.replace(at, kZeros.size(), kZeros);
  return crc32c(zeroed) == big_endian32(crc);
}

Result<void> check_tlvs(Bytes whole, size_t at) {
  while (at < whole.size()) {
    const size_t left = whole.size() - at;
    if (left < kTlvHeaderBytes || left - kTlvHeaderBytes < big_endian16(whole, at + 1)) {
      return fail(Errc::invalid_argument, "PROXY header: a TLV goes past its end");
    }
    const Bytes value = whole.substr(at + kTlvHeaderBytes, big_endian16(whole, at + 1));
    if (byte_at(whole, at) == kTlvCrc32c && (value.size() != 4 || !crc_matches(whole, value))) {
      return fail(Errc::invalid_argument, "PROXY header: its checksum does not match");
    }
    at += kTlvHeaderBytes + value.size();
  }
  return {};
}

}  // namespace

bool may_be_proxy_header(Bytes b) {
  const Bytes begun = b.substr(0, kProxySignature.size());
  return begun == kProxySignature.substr(0, begun.size());
}

bool looks_like_proxy_v1(Bytes b) {
  constexpr Bytes kLine = "PROXY ";
  const Bytes begun = b.substr(0, kLine.size());
  return !begun.empty() && begun == kLine.substr(0, begun.size());
}

Result<size_t> proxy_header_bytes(Bytes fixed) {
  if (fixed.size() < kProxyFixedBytes || !fixed.starts_with(kProxySignature)) {
    return fail(Errc::invalid_argument, "PROXY header: it does not begin as one");
  }
  const uint8_t version = byte_at(fixed, 12) >> 4;
  const uint8_t command = byte_at(fixed, 12) & 0x0f;
  const uint8_t family = byte_at(fixed, 13) >> 4;
  const uint8_t transport = byte_at(fixed, 13) & 0x0f;
  const size_t rest = big_endian16(fixed, 14);
  if (version != kVersion || command > kProxy) {
    return fail(Errc::invalid_argument, "PROXY header: version {} command {} is not known", version,
                command);
  }
  if (kProxyFixedBytes + rest > kMaxProxyBytes) {
    return fail(Errc::invalid_argument, "PROXY header: {} bytes are over the bound of {}",
                kProxyFixedBytes + rest, kMaxProxyBytes);
  }
  if (command == kLocal) return kProxyFixedBytes + rest;
  if (family > kUnix || transport > kDatagram) {
    return fail(Errc::invalid_argument, "PROXY header: family {} transport {} is not known", family,
                transport);
  }
  if (transport == kDatagram) {
    return fail(Errc::invalid_argument, "PROXY header: datagrams do not come over a connection");
  }
  if (rest < kAddressBytes[family]) {
    return fail(Errc::invalid_argument, "PROXY header: {} bytes hold no addresses of family {}",
                rest, family);
  }
  return kProxyFixedBytes + rest;
}

Result<ProxyHeader> parse_proxy_header(Bytes whole) {
  TRY(const size_t bytes, proxy_header_bytes(whole));
  if (bytes != whole.size()) return fail(Errc::invalid_argument, "PROXY header: it is cut short");
  // The proxy's own health check: addresses are ignored.
  if ((byte_at(whole, 12) & 0x0f) == kLocal) return ProxyHeader{};
  const uint8_t family = byte_at(whole, 13) >> 4;
  const bool stream = (byte_at(whole, 13) & 0x0f) == kStream;
  // For an unspecified family only the length is used.
  if (family == kUnspecified) return ProxyHeader{};
  TRY_VOID(check_tlvs(whole, kProxyFixedBytes + kAddressBytes[family]));
  const Bytes addresses = whole.substr(kProxyFixedBytes);
  if (!stream || family == kUnix) return ProxyHeader{};
  TRY(std::string source, family == kInet ? source_of<ip::address_v4>(addresses)
                                          : source_of<ip::address_v6>(addresses));
  return ProxyHeader{std::move(source)};
}

}  // namespace cellar::server
