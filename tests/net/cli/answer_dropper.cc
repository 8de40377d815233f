#include "tests/net/cli/answer_dropper.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "io/base/check.h"
#include "schema/common_generated.h"

namespace cellar::tests {
namespace {

constexpr int kPollMs = 10;

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool send_all(int to, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t n = ::send(to, bytes, size, MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

AnswerDropper::AnswerDropper(const std::string& node, uint16_t op, std::function<void()> meanwhile)
    : op_(op),
      meanwhile_(std::move(meanwhile)),
      node_port_(static_cast<uint16_t>(std::stoi(node.substr(node.rfind(':') + 1)))) {
  listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0, "bind");
  CHECK(::listen(listener_, 64) == 0, "listen");
  CHECK(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0, "its port");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

AnswerDropper::~AnswerDropper() {
  stop_ = true;
  thread_.join();
  for (Line& line : lines_) close(line, false);
  ::close(listener_);
}

std::string AnswerDropper::address() const { return "127.0.0.1:" + std::to_string(port_); }

void AnswerDropper::run() {
  while (!stop_) {
    std::vector<pollfd> polled = {{listener_, POLLIN, 0}};
    for (const Line& line : lines_) {
      polled.push_back({line.client, POLLIN, 0});
      polled.push_back({line.node, POLLIN, 0});
    }
    if (::poll(polled.data(), polled.size(), kPollMs) <= 0) continue;
    size_t at = 1;
    for (Line& line : lines_) {
      if (polled[at].revents != 0) pass_requests(line);
      if (polled[at + 1].revents != 0 && !line.over) pass_answers(line);
      at += 2;
    }
    lines_.remove_if([](const Line& line) { return line.over; });
    if (polled[0].revents != 0) accept_one();
  }
}

void AnswerDropper::accept_one() {
  const int client = ::accept(listener_, nullptr, nullptr);
  if (client < 0) return;
  Line& line = lines_.emplace_back();
  line.client = client;
  line.node = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = loopback(node_port_);
  if (::connect(line.node, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(line, true);
  }
}

// A MutateRow of cells alone is sent as a Put unless it has a token.
bool AnswerDropper::is_awaited(uint16_t op) const {
  const bool writes_row = op_ == static_cast<uint16_t>(wire::fb::Op::MutateRow);
  return op == op_ || (writes_row && op == static_cast<uint16_t>(wire::fb::Op::Put));
}

void AnswerDropper::pass_requests(Line& line) {
  const auto space = line.sent.space();
  const ssize_t n = ::recv(line.client, space.data(), space.size(), 0);
  if (n <= 0 ||
      !send_all(line.node, reinterpret_cast<const char*>(space.data()), static_cast<size_t>(n))) {
    return close(line, false);
  }
  line.sent.received(static_cast<size_t>(n));
  if (!line.greeted) {
    if (line.sent.unread().size() < wire::kPrefaceBytes) return;
    line.sent.consume(wire::kPrefaceBytes);
    line.greeted = true;
  }
  while (true) {
    const auto frame = line.sent.next();
    CHECK(frame.has_value(), "a frame of the client: {}", frame.error().message);
    if (*frame == nullptr) return;
    const wire::FrameHeader& header = (*frame)->header;
    if (header.kind != wire::FrameKind::request || !is_awaited(header.op)) continue;
    ++requests_;
    line.loses_answer |= !dropped_;
  }
}

// The client under test has one request on the wire, so the next frame is its answer.
void AnswerDropper::pass_answers(Line& line) {
  char bytes[64 * 1024];
  const ssize_t n = ::recv(line.node, bytes, sizeof bytes, 0);
  if (n <= 0) return close(line, false);
  if (line.loses_answer && !dropped_) {
    dropped_ = true;
    meanwhile_();
    return close(line, true);
  }
  if (!send_all(line.client, bytes, static_cast<size_t>(n))) close(line, false);
}

void AnswerDropper::close(Line& line, bool reset) {
  if (line.over) return;
  if (reset) {
    const linger at_once{1, 0};
    ::setsockopt(line.client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  ::close(line.client);
  ::close(line.node);
  line.over = true;
}

}  // namespace cellar::tests
