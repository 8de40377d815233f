// ServiceManager: what the service manager (systemd, Type=notify) is told: that the node serves,
// reads its configuration again, stops; and while a watchdog is set, that every shard's loop still
// turns. A node that was not started by one tells nobody.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/net/notify_socket.h"

namespace cellar::server {

// Of the program's main thread.
class ServiceManager {
 public:
  // From NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, as the manager set them.
  static ServiceManager of_environment();
  // `watchdog_us`: the manager ends the process after so long without alive(); 0: never.
  ServiceManager(std::string address, int64_t watchdog_us)
      : socket_(std::move(address)), watchdog_us_(watchdog_us) {}

  void ready(std::string_view status);
  void reloading();
  void stopping(std::string_view status);
  void status(std::string_view text);
  // To be said every ping_us(), and only when all is well.
  void alive();
  // Half of the watchdog's time; nothing where there is none.
  std::optional<int64_t> ping_us() const;

 private:
  void send(std::string_view message);

  NotifySocket socket_;
  const int64_t watchdog_us_;
  bool complained_ = false;
};

}  // namespace cellar::server
