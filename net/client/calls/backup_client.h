// BackupClient: a node's backups, from afar: jobs that are begun, looked at and called off. Blocks,
// with a loop of its own, as SyncClient does; the program's main thread.
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

// How a job goes, or went.
struct BackupStatus {
  uint64_t job = 0;  // 0: there was none since the node's start
  std::string directory, name, phase;
  bool running = false;
  uint64_t bytes_total = 0, bytes_done = 0, blobs_total = 0, blobs_done = 0, copied_bytes = 0;
  std::optional<Error> error;       // of one that ended badly
  std::vector<BackupInfo> backups;  // verified, pruned or listed
};

class BackupClient {
 public:
  explicit BackupClient(ClientOptions options);
  ~BackupClient();
  BackupClient(const BackupClient&) = delete;
  BackupClient& operator=(const BackupClient&) = delete;

  // Each begins a job and answers at once; FAILED_PRECONDITION while another runs. Directories are
  // the node's. Empty names: the node chooses one; the newest.
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
