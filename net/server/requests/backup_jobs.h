// BackupJobs: runs the backup operations of clients on the home shard, one job at a time in the
// background. A client polls the status and may disconnect meanwhile.
//
// The operator controls where backups lie: a directory is accepted only if it is one of
// `backup.directories` or lies in one, both by name and after resolving symbolic links; rados:POOL/
// NAME only if it is one of them or rados:POOL is. Only a job that takes a backup creates the
// directory. A mount may hang: no call blocks the shard's loop, and a separate thread pool keeps
// the log's writes independent of it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/backup/backup.h"
#include "engine/store/backup_place.h"
#include "io/disk/backend.h"
#include "io/loop/gate.h"

namespace cellar::engine {
class Node;
}

namespace cellar::server {

struct ServerOptions;

struct BackupJob {
  enum class Kind : uint8_t { none = 0, take = 1, verify = 2, prune = 3, restore = 4 };
  Kind kind = Kind::none;
  std::string directory;
  std::string name;
  std::vector<std::string> tables;  // for take
  // For prune: older ones go too, except the newest. By the wall clock.
  int64_t taken_from_us = INT64_MIN;
  uint32_t keep = 1;             // for prune
  std::string table, new_table;  // for restore
  engine::Author by;
};

struct BackupJobStatus {
  uint64_t number = 0;  // 0: none since the start
  BackupJob job;
  bool running = false;
  engine::BackupProgress progress;
  std::optional<Error> error;  // of a failed job
  std::vector<engine::BackupSummary> found;
};

// Backups since the start of the node.
struct BackupCounts {
  uint64_t taken = 0;
  uint64_t failed = 0;                    // cancelled ones included
  std::optional<int64_t> newest_us = {};  // end of the newest, by the wall clock
};

class BackupJobs {
 public:
  using Place = std::unique_ptr<engine::BackupPlace>;
  // Opens a directory of the machine, or a place in a Ceph cluster, on the home shard.
  using OpenPlace = std::function<Async<Result<Place>>(DirectoryRequest request)>;
  static constexpr int kMaxLists = 4;  // concurrent; each may last as long as a mount hangs
  struct Source {
    std::string directory_id;
    std::string program;
  };

  // All arguments belong to the home shard and must outlive it.
  BackupJobs(engine::Node& node, const Runtime& runtime, Source source, OpenPlace open)
      : node_(node), runtime_(runtime), source_(std::move(source)), open_(std::move(open)) {}

  // Starts a job. FAILED_PRECONDITION: another one runs. INVALID_ARGUMENT, PERMISSION_DENIED,
  // NOT_FOUND.
  Async<Result<void>> start(BackupJob job, std::string allowed, uint64_t rate_bytes_per_s);
  const BackupJobStatus& status() const { return status_; }
  // A job runs or opens its directory: start() would refuse another.
  bool busy() const { return opening_ || status_.running; }
  const BackupCounts& counts() const { return counts_; }
  void cancel() { status_.progress.cancelled = true; }
  // Same errors, and RESOURCE_EXHAUSTED if kMaxLists are in progress.
  Async<Result<std::vector<engine::BackupSummary>>> list(std::string directory,
                                                         std::string allowed);
  // Interrupts the job and waits for its end.
  Async<void> stop();

  // A backup was taken, or not.
  void count(bool done);

 private:
  Async<void> run(Place place);
  Async<void> carry_out_at(engine::BackupPlace& place);
  Async<Result<std::vector<engine::BackupSummary>>> list_in(std::string directory,
                                                            std::vector<std::string> within);
  Async<Result<void>> carry_out(engine::BackupStore& store);
  Async<Result<std::string>> choose(engine::BackupStore& store);

  engine::Node& node_;
  Runtime runtime_;
  const Source source_;
  const OpenPlace open_;
  BackupJobStatus status_;
  BackupCounts counts_;
  engine::BackupPlace* place_ = nullptr;  // of the job that runs
  bool opening_ = false;                  // opening the directory of a job that has not started
  int lists_ = 0;
  Gate running_;
};

}  // namespace cellar::server
