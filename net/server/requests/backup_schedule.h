// BackupSchedule: takes a backup every backup.every on the home shard and removes old ones. It also
// knows when the newest backup was taken, for metrics.
//
// Invariants:
// - A backup is due when none in backup.into was taken within the last backup.every by the wall
//   clock. The directory decides, so a restart neither skips nor repeats one. Backups from the
//   future (the wall clock was ahead) do not count.
// - Old backups are removed only after a newer one was taken as a whole.
// - An operator's job is not disturbed: the schedule waits until it has ended.
// - After a failure the next attempt follows after kRetryUs at the earliest.
//
// A directory that does not answer holds the schedule and threads of backups, nothing else.
#pragma once

#include <optional>

#include "io/loop/event.h"
#include "io/loop/timers.h"
#include "net/server/requests/backup_jobs.h"

namespace cellar::server {

class LocalShard;

class BackupSchedule {
 public:
  // Between looks into the directories, which read the lists of all backups; less if backup.every
  // is less.
  static constexpr int64_t kLookUs = 600'000'000;
  static constexpr int64_t kRetryUs = 300'000'000;
  static constexpr int64_t kPollUs = 100'000;  // of a running job

  // Both must outlive it. `home` supplies the settings, which a reload may change, and the clocks.
  BackupSchedule(LocalShard& home, BackupJobs& jobs);
  BackupSchedule(const BackupSchedule&) = delete;
  BackupSchedule& operator=(const BackupSchedule&) = delete;

  void start();
  // Also stops the jobs. Must be awaited before destruction if it was started.
  Async<void> stop();

  // When the newest known backup in backup.into and backup.directories (not below them), or of a
  // job since the start, was taken, by the wall clock. Absent: none is known.
  std::optional<int64_t> newest_us() const { return newest_us_; }

 private:
  Async<void> run();
  Async<void> look();
  Async<void> turn();
  Async<Result<void>> take();
  Async<Result<void>> carry_out(BackupJob job);
  Async<void> pause_us(int64_t us);

  LocalShard& home_;
  BackupJobs& jobs_;
  std::optional<int64_t> newest_us_;
  std::optional<int64_t> newest_into_us_;  // in backup.into
  int64_t not_before_us_ = INT64_MIN;      // on the loop's clock, after a failure
  bool started_ = false;
  bool stopping_ = false;
  ConditionVariable wake_;
  Timer timer_;
  Event ended_;
};

}  // namespace cellar::server
