#include "tests/process/support/http_call.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace cellar::process {
namespace {

int connect_to(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return -1;
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(colon + 1))));
  inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) return fd;
  close(fd);
  return -1;
}

// By Content-Length if present, otherwise until the end of the stream: some servers keep a
// connection open that should be closed.
bool complete(const std::string& all) {
  const size_t end = all.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  std::string head = all.substr(0, end);
  for (char& c : head) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const size_t at = head.find("content-length:");
  if (at == std::string::npos) return false;
  return all.size() >= end + 4 + std::stoul(head.substr(at + 15));
}

}  // namespace

HttpAnswer http_call(const std::string& address, const std::string& method,
                     const std::string& target, const std::string& headers, const std::string& body,
                     int timeout_ms) {
  const int fd = connect_to(address);
  if (fd < 0) return {};
  std::string request = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{}", method,
                                    target, address, headers);
  if (method == "POST") request += fmt::format("Content-Length: {}\r\n", body.size());
  request += "\r\n" + body;
  for (size_t sent = 0; sent < request.size();) {
    const ssize_t n = send(fd, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) break;
    sent += static_cast<size_t>(n);
  }
  std::string all;
  char buffer[16384];
  while (!complete(all)) {
    pollfd p{fd, POLLIN, 0};
    if (poll(&p, 1, timeout_ms) <= 0) break;
    const ssize_t n = recv(fd, buffer, sizeof buffer, 0);
    if (n <= 0) break;
    all.append(buffer, static_cast<size_t>(n));
  }
  close(fd);
  const size_t end = all.find("\r\n\r\n");
  if (!all.starts_with("HTTP/1.1 ") || end == std::string::npos) return {};
  return {std::stoi(all.substr(9, 3)), all.substr(0, end + 2), all.substr(end + 4)};
}

std::string http_address_in(const std::string& log_path) {
  std::ifstream in(log_path);
  std::ostringstream text;
  text << in.rdbuf();
  const std::string log = text.str();
  constexpr std::string_view kMark = "listening address=";
  const size_t at = log.rfind(kMark);
  if (at == std::string::npos) return {};
  const size_t begin = at + kMark.size();
  return log.substr(begin, log.find_first_of(" \n", begin) - begin);
}

}  // namespace cellar::process
