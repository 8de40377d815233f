#include "io/net/send_parts.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace cellar {
namespace {

constexpr size_t kMaxParts = 64;  // gathered by one system call

void* base_of(Bytes part) { return const_cast<char*>(part.data()); }

// send() for one part, the usual case, costs less than sendmsg().
ssize_t send_once(int fd, std::span<const Bytes> parts, size_t skip) {
  const Bytes first = parts.front().substr(skip);
  if (parts.size() == 1) return ::send(fd, first.data(), first.size(), MSG_NOSIGNAL);
  std::array<iovec, kMaxParts> gathered;
  const size_t count = std::min(parts.size(), kMaxParts);
  gathered[0] = {base_of(first), first.size()};
  for (size_t i = 1; i < count; ++i) gathered[i] = {base_of(parts[i]), parts[i].size()};
  msghdr message = {};
  message.msg_iov = gathered.data();
  message.msg_iovlen = count;
  return ::sendmsg(fd, &message, MSG_NOSIGNAL);
}

void drop_sent(std::span<const Bytes>& parts, size_t& skip, size_t sent) {
  skip += sent;
  while (!parts.empty() && skip >= parts.front().size()) {
    skip -= parts.front().size();
    parts = parts.subspan(1);
  }
}

}  // namespace

Result<bool> send_parts(int fd, std::span<const Bytes>& parts, size_t& skip,
                        const std::string& peer) {
  for (;;) {
    drop_sent(parts, skip, 0);
    if (parts.empty()) return true;
    const ssize_t sent = send_once(fd, parts, skip);
    if (sent >= 0) {
      drop_sent(parts, skip, static_cast<size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return false;
    } else if (errno != EINTR) {
      return std::unexpected(os_error(errno, peer));
    }
  }
}

Result<size_t> send_what_fits(int fd, std::span<const Bytes> parts, const std::string& peer) {
  size_t total = 0;
  for (const Bytes part : parts) total += part.size();
  size_t skip = 0;
  TRY(const bool all, send_parts(fd, parts, skip, peer));
  if (all) return total;
  for (const Bytes part : parts) total -= part.size();
  return total + skip;
}

}  // namespace cellar
