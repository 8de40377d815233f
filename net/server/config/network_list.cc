#include "net/server/config/network_list.h"

#include <algorithm>

#include <boost/asio/ip/address.hpp>

#include "io/net/transport.h"
#include "net/server/config/list_text.h"

namespace cellar::server {
namespace {

namespace ip = boost::asio::ip;
using ErrorCode = boost::system::error_code;

// Whether one of the networks, at most as long as an address, contains it.
template <class Networks, class Address>
bool any_holds(const Networks& networks, const Address& address) {
  return std::any_of(networks.begin(), networks.end(), [&](const auto& network) {
    using Network = std::remove_cvref_t<decltype(network)>;
    return Network(address, network.prefix_length()).canonical() == network.canonical();
  });
}

}  // namespace

Result<NetworkList> NetworkList::parse(std::string_view text) {
  NetworkList list;
  while (!trimmed(text).empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string one(trimmed(text.substr(0, comma)));
    text.remove_prefix(std::min(comma + 1, text.size()));
    const bool v6 = one.find(':') != std::string::npos;
    const std::string whole =
        one.find('/') != std::string::npos ? one : one + (v6 ? "/128" : "/32");
    ErrorCode wrong;
    if (v6) {
      list.v6_.push_back(ip::make_network_v6(whole, wrong));
    } else {
      list.v4_.push_back(ip::make_network_v4(whole, wrong));
    }
    if (wrong) {
      return fail(Errc::invalid_argument, "'{}' is no network (as in 10.0.0.0/8) and no address",
                  one);
    }
    if (list.v4_.size() + list.v6_.size() > kMaxNetworks) {
      return fail(Errc::invalid_argument, "more than {} networks", kMaxNetworks);
    }
  }
  return list;
}

std::string NetworkList::to_string() const {
  std::string text;
  const auto add = [&text](const std::string& one) { text += (text.empty() ? "" : ",") + one; };
  for (const auto& network : v4_) add(network.to_string());
  for (const auto& network : v6_) add(network.to_string());
  return text;
}

bool NetworkList::contains(std::string_view peer) const {
  if (empty()) return false;
  const auto parsed = parse_address(peer);
  if (!parsed) return false;
  ErrorCode wrong;
  ip::address address = ip::make_address(parsed->host, wrong);
  if (wrong) return false;
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    address = ip::make_address_v4(ip::v4_mapped, address.to_v6());
  }
  return address.is_v4() ? any_holds(v4_, address.to_v4()) : any_holds(v6_, address.to_v6());
}

}  // namespace cellar::server
