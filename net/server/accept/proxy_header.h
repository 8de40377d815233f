// The PROXY protocol, version 2: what a TCP proxy sends before the first byte of a connection, to
// tell whose connection it is. A header is 16 fixed bytes and then as many as these announce:
//
//   0-11  the signature   12  version 2 and command   13  address family and transport
//   14-15 bytes that follow, big-endian: addresses and ports by family, then TLVs
//
// Only TCP over IPv4 and IPv6 tells an address here. LOCAL (a proxy's own health check),
// unspecified families and Unix sockets tell none: the connection's own address stands. Version 1,
// a line of text without a bound of its own, is refused.
//
// A source that is the loopback or the unspecified address is refused: no client of a proxy has it,
// and the node gives its own machine more than others (tokens in plain text, no bound on
// connections).
#pragma once

#include <cstddef>
#include <string>

#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar::server {

inline constexpr Bytes kProxySignature{"\r\n\r\n\0\r\nQUIT\n", 12};
inline constexpr size_t kProxyFixedBytes = 16;
// Of a whole header. Proxies that tell of TLS add some hundred bytes of TLVs.
inline constexpr size_t kMaxProxyBytes = 4096;

struct ProxyHeader {
  std::string source;  // "HOST:PORT" of the client; empty: not told
};

// Whether `b`, of which any first bytes may be there yet, can still become a header. False for an
// empty version 1 line, too: looks_like_proxy_v1 tells that one.
bool may_be_proxy_header(Bytes b);
// "PROXY " or as much of it as is there, at least one byte.
bool looks_like_proxy_v1(Bytes b);

// The size of the whole header by its fixed bytes. INVALID_ARGUMENT: a signature, version, command
// or family that cannot be, or more than kMaxProxyBytes.
Result<size_t> proxy_header_bytes(Bytes fixed);
// REQUIRES: whole.size() == *proxy_header_bytes(whole). INVALID_ARGUMENT: addresses or TLVs that do
// not fit, a checksum that differs, a source that is
// loopback or unspecified.
Result<ProxyHeader> parse_proxy_header(Bytes whole);

}  // namespace cellar::server
