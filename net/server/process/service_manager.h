// ServiceManager: notifies the service manager (systemd, Type=notify) that the node serves, reloads
// or stops and, if a watchdog is set, that every shard's loop turns. Without a service manager it
// does nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/net/notify_socket.h"

namespace cellar::server {

// Main thread only.
class ServiceManager {
 public:
  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
  static ServiceManager of_environment();
  // `watchdog_us`: the manager kills the process after this time without alive(); 0: never.
  ServiceManager(std::string address, int64_t watchdog_us)
      : socket_(std::move(address)), watchdog_us_(watchdog_us) {}

  void ready(std::string_view status);
  void reloading();
  void stopping(std::string_view status);
  void status(std::string_view text);
  // Call every ping_us() while the node is healthy.
  void alive();
  // Half of the watchdog time; empty without a watchdog.
  std::optional<int64_t> ping_us() const;

 private:
  void send(std::string_view message);

  NotifySocket socket_;
  const int64_t watchdog_us_;
  bool complained_ = false;
};

}  // namespace cellar::server
