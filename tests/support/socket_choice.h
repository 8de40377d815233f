// Which sockets the nodes of a test use: io_uring where the kernel permits it, or what
// CELLAR_TEST_SOCKETS names (the tests run with both, see tests/net/CMakeLists.txt).
#pragma once

#include <cstdlib>

#include "io/net/socket_backend.h"
#include "io/ring/ring.h"

namespace cellar {

inline SocketBackend socket_choice() {
  if (const char* name = std::getenv("CELLAR_TEST_SOCKETS"))
    return parse_socket_backend(name).value();
  return probe_ring() == 0 ? SocketBackend::io_uring : SocketBackend::epoll;
}

}  // namespace cellar
