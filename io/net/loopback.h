// Loopback addresses of this machine.
#pragma once

#include <string_view>

namespace cellar {

// 127.0.0.0/8, ::1 (also IPv4-mapped), localhost.
bool is_loopback(std::string_view host);
// `peer` is "HOST:PORT".
bool is_loopback_peer(std::string_view peer);

}  // namespace cellar
