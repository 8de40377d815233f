// The PROXY protocol, version 2: a TCP proxy sends a header before the first byte of a connection
// to identify the client. The header has 16 fixed bytes and a variable part:
//
//   0-11   signature
//   12     version 2 and command
//   13     address family and transport
//   14-15  length of the variable part, big-endian: addresses and ports by family, then TLVs
//
// Only TCP over IPv4 and IPv6 supplies an address here. For LOCAL (a proxy's own health check),
// unspecified families and Unix sockets the address of the connection is used. Version 1, an
// unbounded text line, is refused.
//
// A loopback or unspecified source is refused: no client of a proxy has one, and the node gives
// loopback peers privileges (tokens in plain text, no connection limit).
#pragma once

#include <cstddef>
#include <string>

#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar::server {

inline constexpr Bytes kProxySignature{"\r\n\r\n\0\r\nQUIT\n", 12};
inline constexpr size_t kProxyFixedBytes = 16;
// Size limit of a whole header. Proxies that report TLS add some hundred bytes of TLVs.
inline constexpr size_t kMaxProxyBytes = 4096;

struct ProxyHeader {
  std::string source;  // "HOST:PORT" of the client; empty: not supplied
};

// Whether `b`, a prefix of unknown length, can be the start of a header. False for a version 1 line
// too, which looks_like_proxy_v1 detects.
bool may_be_proxy_header(Bytes b);
// Whether `b` is a nonempty prefix of, or starts with, "PROXY ".
bool looks_like_proxy_v1(Bytes b);

// The size of the whole header from its fixed bytes. INVALID_ARGUMENT for an invalid signature,
// version, command or family, or more than kMaxProxyBytes.
Result<size_t> proxy_header_bytes(Bytes fixed);
// REQUIRES: whole.size() == *proxy_header_bytes(whole). INVALID_ARGUMENT for addresses or TLVs that
// do not fit, a wrong checksum, or a loopback or unspecified source.
Result<ProxyHeader> parse_proxy_header(Bytes whole);

}  // namespace cellar::server
