// Which addresses are this machine's own.
#pragma once

#include <string_view>

namespace cellar {

// 127.0.0.0/8, ::1 (also as v4 in v6), localhost.
bool is_loopback(std::string_view host);
// Of a peer, "HOST:PORT".
bool is_loopback_peer(std::string_view peer);

}  // namespace cellar
