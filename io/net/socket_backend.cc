#include "io/net/socket_backend.h"

#include "io/base/check.h"

namespace cellar {

std::string_view socket_backend_name(SocketBackend backend) {
  switch (backend) {
    case SocketBackend::automatic:
      return "auto";
    case SocketBackend::io_uring:
      return "io_uring";
    case SocketBackend::epoll:
      return "epoll";
  }
  UNREACHABLE();
}

Result<SocketBackend> parse_socket_backend(std::string_view name) {
  for (const SocketBackend known :
       {SocketBackend::automatic, SocketBackend::io_uring, SocketBackend::epoll}) {
    if (name == socket_backend_name(known)) return known;
  }
  return fail(Errc::invalid_argument,
              "socket backend '{}' is none of 'auto', 'io_uring' and 'epoll'", name);
}

}  // namespace cellar
