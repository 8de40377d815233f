// NetworkList: networks that an operator has named, for "is this address one of them?".
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

  // "10.0.0.0/8, fd00::/8, 192.0.2.7": networks or single addresses, with commas between; empty:
  // none. INVALID_ARGUMENT names the part that is neither.
  static Result<NetworkList> parse(std::string_view text);
  // As parse() takes it.
  std::string to_string() const;

  bool empty() const { return v4_.empty() && v6_.empty(); }
  // "HOST:PORT" with a number as host, as ByteStream::peer() tells it; false for anything else. An
  // IPv4 address inside an IPv6 one counts as itself.
  bool contains(std::string_view peer) const;

 private:
  std::vector<boost::asio::ip::network_v4> v4_;
  std::vector<boost::asio::ip::network_v6> v6_;
};

}  // namespace cellar::server
