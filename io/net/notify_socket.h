// NotifySocket: reports state to the service manager by datagrams to the socket named in the
// environment (sd_notify(3)). Without that variable nothing is sent.
#pragma once

#include <string>
#include <string_view>

#include "io/base/result.h"

namespace cellar {

// Single-threaded. Never blocks: messages are lost if the manager does not read.
class NotifySocket {
 public:
  // `address` as in NOTIFY_SOCKET: a path, or '@' and an abstract name; empty disables the socket.
  explicit NotifySocket(std::string address) : address_(std::move(address)) {}
  ~NotifySocket();
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  bool wanted() const { return !address_.empty(); }
  // Sends, for example, "READY=1\nSTATUS=serves". UNAVAILABLE if the kernel does not accept it.
  Result<void> send(std::string_view message);

 private:
  std::string address_;
  int fd_ = -1;
};

}  // namespace cellar
