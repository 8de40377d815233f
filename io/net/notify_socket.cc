#include "io/net/notify_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace cellar {

NotifySocket::~NotifySocket() {
  if (fd_ >= 0) ::close(fd_);
}

Result<void> NotifySocket::send(std::string_view message) {
  if (!wanted()) return {};
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  const bool known = address_.front() == '/' || address_.front() == '@';
  if (!known || address_.size() >= sizeof to.sun_path) {
    return fail(Errc::invalid_argument, "NOTIFY_SOCKET: '{}' is no address of a socket", address_);
  }
  std::memcpy(to.sun_path, address_.data(), address_.size());
  if (to.sun_path[0] == '@') to.sun_path[0] = '\0';
  if (fd_ < 0) fd_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd_ < 0) return std::unexpected(os_error(errno, "socket of the service manager"));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  const ssize_t sent = ::sendto(fd_, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                                reinterpret_cast<const sockaddr*>(&to), size);
  if (sent < 0) {
    return fail(Errc::unavailable, "NOTIFY_SOCKET '{}': {}", address_, std::strerror(errno));
  }
  return {};
}

}  // namespace cellar
