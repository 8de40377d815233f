#include "io/net/loopback.h"

#include <boost/asio/ip/address.hpp>

#include "io/net/transport.h"

namespace cellar {

namespace ip = boost::asio::ip;

bool is_loopback(std::string_view host) {
  if (host == "localhost") return true;
  boost::system::error_code error;
  const ip::address address = ip::make_address(std::string(host), error);
  if (error) return false;
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    return ip::make_address_v4(ip::v4_mapped, address.to_v6()).is_loopback();
  }
  return address.is_loopback();
}

bool is_loopback_peer(std::string_view peer) {
  const auto address = parse_address(peer);
  return address && is_loopback(address->host);
}

}  // namespace cellar
