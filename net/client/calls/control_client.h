// ControlClient: reload, drain and status of a node. Blocks, with one connection and its own loop,
// like BackupClient; for the program's main thread.
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

// The state of a node and the result of a reload.
struct ControlStatus {
  std::string state;                        // as in /readyz: "ready", "read-only", ...
  std::string reason;                       // a sentence without a full stop
  uint64_t connections = 0;                 // open now, including this client's
  std::vector<SettingChange> changed;       // now in force
  std::vector<SettingChange> need_restart;  // requested; in force after the next start
  int64_t certificate_expires_us = 0;       // 0: the node does not use TLS
  std::vector<std::string> backup_directories;
};

class ControlClient {
 public:
  explicit ControlClient(ClientOptions options);
  ~ControlClient();
  ControlClient(const ControlClient&) = delete;
  ControlClient& operator=(const ControlClient&) = delete;

  Result<ControlStatus> status();
  // FAILED_PRECONDITION: the configuration is invalid and not applied.
  Result<ControlStatus> reload();
  // The node reports draining but still serves; take_work() reverts it.
  Result<ControlStatus> drain();
  Result<ControlStatus> take_work();
  void sleep_us(int64_t us);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace cellar::client
