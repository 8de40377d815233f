// Which proxies a node believes.
#pragma once

#include "net/server/config/network_list.h"

namespace cellar::server {

struct ProxyRules {
  NetworkList trusted;    // may send a PROXY header
  bool required = false;  // and must
};

}  // namespace cellar::server
