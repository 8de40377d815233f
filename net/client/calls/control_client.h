// ControlClient: tells a node to reload or to drain, and asks how it stands. Blocks, with one
// connection and a loop of its own, as BackupClient does; the program's main thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/base/result.h"
#include "net/client/api/options.h"

namespace cellar::client {

struct SettingChange {
  std::string name, before, after;
};

// How a node stands, and what a reload changed.
struct ControlStatus {
  std::string state;                        // as /readyz tells it: "ready", "read-only", ...
  std::string reason;                       // why, a sentence without a full stop
  uint64_t connections = 0;                 // open now; this client's is one of them
  std::vector<SettingChange> changed;       // in force
  std::vector<SettingChange> need_restart;  // wanted, and in force after the next start
  int64_t certificate_expires_us = 0;       // 0: the node speaks no TLS
  std::vector<std::string> backup_directories;
};

class ControlClient {
 public:
  explicit ControlClient(ClientOptions options);
  ~ControlClient();
  ControlClient(const ControlClient&) = delete;
  ControlClient& operator=(const ControlClient&) = delete;

  Result<ControlStatus> status();
  // FAILED_PRECONDITION: something is wrong with the configuration, and nothing of it is in force.
  Result<ControlStatus> reload();
  // It says outside that it drains and serves on; take_work() takes that back.
  Result<ControlStatus> drain();
  Result<ControlStatus> take_work();
  void sleep_us(int64_t us);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace cellar::client
