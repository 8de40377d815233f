// SocketBackend: what waits for the bytes of TCP streams.
#pragma once

#include <cstdint>
#include <string_view>

#include "io/base/result.h"

namespace cellar {

enum class SocketBackend : uint8_t { automatic, io_uring, epoll };

// "auto", "io_uring" or "epoll".
std::string_view socket_backend_name(SocketBackend backend);
Result<SocketBackend> parse_socket_backend(std::string_view name);

}  // namespace cellar
