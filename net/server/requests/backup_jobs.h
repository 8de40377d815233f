// BackupJobs: the work with backups that a client asks for: one job at a time, on the home shard,
// in the background. Who asked looks how it goes with further requests, and may leave meanwhile.
//
// Where backups lie is for the operator to allow: a directory is taken only when it is one of
// `backup.directories`, or lies in one of them, by its name and with all symbolic links resolved.
// Only the job that takes a backup makes it. The mount may hang: nothing of it blocks the shard's
// loop, and its threads are of a pool of their own, so that the log's writes never wait for it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/backup/backup.h"
#include "io/disk/backend.h"
#include "io/disk/file.h"
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
  std::vector<std::string> tables;  // take
  uint32_t keep = 1;                // prune
  std::string table, new_table;     // restore
  engine::Author by;
};

struct BackupJobStatus {
  uint64_t number = 0;  // 0: none since the start
  BackupJob job;
  bool running = false;
  engine::BackupProgress progress;
  std::optional<Error> error;  // of one that has ended
  std::vector<engine::BackupSummary> found;
};

// "/backup/daily" is allowed by "/backup", "/backups" is not, and nothing with "..": a sentence
// that names the setting.
Result<void> check_backup_directory(std::string_view directory, std::string_view allowed);

class BackupJobs {
 public:
  // A file system rooted at a directory of the machine, on the home shard.
  using OpenDirectory =
      std::function<Async<Result<std::unique_ptr<FileSystem>>>(DirectoryRequest request)>;
  static constexpr int kMaxLists = 4;  // at one time; each may stand for as long as a mount hangs
  struct Source {
    std::string directory_id;
    std::string program;
  };

  // All of it is the home shard's, and outlives it.
  BackupJobs(engine::Node& node, const Runtime& runtime, Source source, OpenDirectory open)
      : node_(node), runtime_(runtime), source_(std::move(source)), open_(std::move(open)) {}

  // Begins it. FAILED_PRECONDITION: another runs. INVALID_ARGUMENT, PERMISSION_DENIED, NOT_FOUND.
  Async<Result<void>> start(BackupJob job, std::string allowed, uint64_t rate_bytes_per_s);
  const BackupJobStatus& status() const { return status_; }
  void cancel() { status_.progress.cancelled = true; }
  // Of the same errors; RESOURCE_EXHAUSTED: kMaxLists are under way.
  Async<Result<std::vector<engine::BackupSummary>>> list(std::string directory,
                                                         std::string allowed);
  // Calls the job off and resumes when it has ended.
  Async<void> stop();

 private:
  Async<void> run(std::unique_ptr<FileSystem> fs);
  Async<Result<std::vector<engine::BackupSummary>>> list_in(std::string directory,
                                                            std::vector<std::string> within);
  Async<Result<void>> carry_out(engine::BackupStore& store);
  Async<Result<std::string>> choose(engine::BackupStore& store);

  engine::Node& node_;
  Runtime runtime_;
  const Source source_;
  const OpenDirectory open_;
  BackupJobStatus status_;
  bool opening_ = false;  // the directory of a job that is not begun yet
  int lists_ = 0;
  Gate running_;
};

}  // namespace cellar::server
