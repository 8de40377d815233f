// BackupClient: backup jobs of a node: start, status, cancel. Blocks, with its own loop, like
// SyncClient; for the program's main thread.
//
//   BackupClient backups(options);
//   Result<BackupStatus> status = backups.take("/backup", "", {});
//   while (status && status->running) { ...wait...; status = backups.status(); }
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/base/result.h"
#include "net/client/api/options.h"

namespace cellar::client {

struct BackupInfo {
  std::string name, program;
  int64_t wall_us = 0, trusted_us = 0;
  std::vector<std::string> tables;
  uint64_t blobs = 0, bytes = 0, copied_bytes = 0;
};

// The state of the current or last job.
struct BackupStatus {
  uint64_t job = 0;  // 0: none since the node's start
  std::string directory, name, phase;
  bool running = false;
  uint64_t bytes_total = 0, bytes_done = 0, blobs_total = 0, blobs_done = 0, copied_bytes = 0;
  std::optional<Error> error;       // of a failed job
  std::vector<BackupInfo> backups;  // verified, pruned or listed ones
};

class BackupClient {
 public:
  explicit BackupClient(ClientOptions options);
  ~BackupClient();
  BackupClient(const BackupClient&) = delete;
  BackupClient& operator=(const BackupClient&) = delete;

  // Each call starts a job and returns at once; FAILED_PRECONDITION while another one runs.
  // Directories are on the node. Empty name: chosen by the node (take), the newest (others).
  Result<BackupStatus> take(std::string_view directory, std::string_view name,
                            const std::vector<std::string>& tables);
  Result<BackupStatus> verify(std::string_view directory, std::string_view name);
  Result<BackupStatus> prune(std::string_view directory, uint32_t keep);
  Result<BackupStatus> restore(std::string_view directory, std::string_view name,
                               std::string_view table, std::string_view new_table);

  Result<BackupStatus> status();
  Result<BackupStatus> cancel();
  Result<std::vector<BackupInfo>> list(std::string_view directory);
  void sleep_us(int64_t us);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace cellar::client
