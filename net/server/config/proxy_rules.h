// The proxies whose headers a node accepts.
#pragma once

#include "net/server/config/network_list.h"

namespace cellar::server {

struct ProxyRules {
  NetworkList trusted;    // networks that may send a PROXY header
  bool required = false;  // they must send one
};

}  // namespace cellar::server
