// NetworkList: a configured list of networks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>

#include "io/base/result.h"

namespace cellar::server {

class NetworkList {
 public:
  static constexpr size_t kMaxNetworks = 256;

  // "10.0.0.0/8, fd00::/8, 192.0.2.7": networks or single addresses separated by commas; empty:
  // none. INVALID_ARGUMENT names the invalid part.
  static Result<NetworkList> parse(std::string_view text);
  // In the format of parse().
  std::string to_string() const;

  bool empty() const { return v4_.empty() && v6_.empty(); }
  // `peer` is "HOST:PORT" with a numeric host, see ByteStream::peer(); false for anything else. An
  // IPv4-mapped IPv6 address counts as IPv4.
  bool contains(std::string_view peer) const;

 private:
  std::vector<boost::asio::ip::network_v4> v4_;
  std::vector<boost::asio::ip::network_v6> v6_;
};

// The proxies whose headers a node accepts.
struct ProxyRules {
  NetworkList trusted;    // networks that may send a PROXY header
  bool required = false;  // they must send one
};

}  // namespace cellar::server
