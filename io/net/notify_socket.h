// NotifySocket: tells the service manager that started this process how it is, by datagrams to a
// socket whose address the manager put into the environment (sd_notify(3)). Without one, nothing is
// sent.
#pragma once

#include <string>
#include <string_view>

#include "io/base/result.h"

namespace cellar {

// One thread. Never waits: a manager that does not read loses messages.
class NotifySocket {
 public:
  // `address` as in NOTIFY_SOCKET: a path, or '@' and an abstract name; empty: nobody listens.
  explicit NotifySocket(std::string address) : address_(std::move(address)) {}
  ~NotifySocket();
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  bool wanted() const { return !address_.empty(); }
  // "READY=1\nSTATUS=serves". UNAVAILABLE when it could not be handed to the kernel.
  Result<void> send(std::string_view message);

 private:
  std::string address_;
  int fd_ = -1;
};

}  // namespace cellar
