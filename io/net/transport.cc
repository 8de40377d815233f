#include "io/net/transport.h"

#include <charconv>

namespace cellar {

Result<void> ByteStream::attach(ShardExecutor /*executor*/) {
  return fail(Errc::failed_precondition, "{} was not detached from its loop", peer());
}

Result<Address> parse_address(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return fail(Errc::invalid_argument, "address '{}' is not HOST:PORT", text);
  }
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.contains(':')) {
    return fail(Errc::invalid_argument, "address '{}': write a v6 host as [HOST]:PORT", text);
  }
  Address address{std::string(host), 0};
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (port.empty() || error != std::errc() || end != port.data() + port.size()) {
    return fail(Errc::invalid_argument, "address '{}': port '{}' is not in 0..65535", text, port);
  }
  return address;
}

std::string format_address(std::string_view host, uint16_t port) {
  return host.contains(':') ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

}  // namespace cellar
