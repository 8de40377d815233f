#include "net/server/requests/backup_schedule.h"

#include <algorithm>

#include "io/base/log.h"
#include "net/server/config/backup_directories.h"
#include "net/server/shard/local_shard.h"

namespace cellar::server {
namespace {

void raise(std::optional<int64_t>& newest_us, int64_t at_us) {
  newest_us = std::max(newest_us.value_or(at_us), at_us);
}

}  // namespace

BackupSchedule::BackupSchedule(LocalShard& home, BackupJobs& jobs)
    : home_(home),
      jobs_(jobs),
      timer_(
          home.timers(), [](void* self) { static_cast<BackupSchedule*>(self)->wake_.notify_all(); },
          this) {}

void BackupSchedule::start() {
  started_ = true;
  spawn(home_.executor(), run());
}

Async<void> BackupSchedule::run() {
  while (!stopping_) {
    co_await turn();
    const int64_t every_us = home_.options().backup.every_us;
    co_await pause_us(every_us > 0 ? std::min(every_us, kLookUs) : kLookUs);
  }
  ended_.set();
}

Async<void> BackupSchedule::turn() {
  co_await look();
  const BackupOptions backup = home_.options().backup;
  if (stopping_ || backup.every_us == 0) co_return;
  const int64_t now_us = home_.wall().wall_us();
  const bool due = !newest_into_us_ || now_us - *newest_into_us_ >= backup.every_us;
  if (!due || jobs_.status().running || home_.timers().now_us() < not_before_us_) co_return;
  const Result<void> done = co_await take();
  if (done || stopping_) co_return;
  not_before_us_ = home_.timers().now_us() + kRetryUs;
  log_warn("backup", "scheduled backup failed, next attempt in {} s directory={} error=\"{}\"",
           kRetryUs / 1'000'000, backup.into, done.error().message);
}

// A directory that is missing or cannot be read has no backups.
Async<void> BackupSchedule::look() {
  const BackupOptions backup = home_.options().backup;
  std::vector<std::string> places = directories_of(backup.directories);
  const std::vector<std::string> into = directories_of(backup.into);
  if (!into.empty()) places.push_back(into.front());
  newest_into_us_.reset();
  std::optional<int64_t> newest_us;
  for (const std::string& place : places) {
    if (stopping_) co_return;
    const auto found = co_await jobs_.list(place, backup.directories);
    if (!found) continue;
    const int64_t now_us = home_.wall().wall_us();
    for (const engine::BackupSummary& one : *found) {
      if (one.wall_us > now_us) continue;
      raise(newest_us, one.wall_us);
      if (!into.empty() && place == into.front()) raise(newest_into_us_, one.wall_us);
    }
  }
  const std::optional<int64_t> taken_us = jobs_.counts().newest_us;
  if (taken_us) raise(newest_us, *taken_us);
  newest_us_ = newest_us;
}

Async<Result<void>> BackupSchedule::take() {
  const BackupOptions backup = home_.options().backup;
  BackupJob job;
  job.kind = BackupJob::Kind::take;
  job.directory = backup.into;
  CO_TRY_VOID(co_await carry_out(std::move(job)));
  BackupJob prune;
  prune.kind = BackupJob::Kind::prune;
  prune.directory = backup.into;
  prune.keep = backup.keep;
  if (backup.keep_for_us > 0) prune.taken_from_us = home_.wall().wall_us() - backup.keep_for_us;
  CO_TRY_VOID(co_await carry_out(std::move(prune)));
  co_await look();
  co_return Result<void>();
}

// Starts a job and waits for its end.
Async<Result<void>> BackupSchedule::carry_out(BackupJob job) {
  const BackupOptions& backup = home_.options().backup;
  const bool takes = job.kind == BackupJob::Kind::take;
  const bool busy = jobs_.busy();
  auto begun = co_await jobs_.start(std::move(job), backup.directories, backup.rate_bytes_per_s);
  // A directory that cannot be opened is a failed backup, though there was no job. Another job that
  // runs is none.
  if (!begun && takes && !busy) jobs_.count(false);
  if (!begun) co_return std::unexpected(std::move(begun).error());
  const uint64_t number = jobs_.status().number;
  while (jobs_.status().running && jobs_.status().number == number) {
    if (stopping_) co_return fail(Errc::cancelled, "the node ends");
    co_await pause_us(kPollUs);
  }
  // Another job may have begun meanwhile: the directory tells what became of this one.
  const BackupJobStatus& status = jobs_.status();
  if (status.number == number && status.error) co_return std::unexpected(*status.error);
  co_return Result<void>();
}

Async<void> BackupSchedule::pause_us(int64_t us) {
  if (stopping_) co_return;
  timer_.arm_after_us(us);
  co_await wake_.wait();
}

Async<void> BackupSchedule::stop() {
  stopping_ = true;
  wake_.notify_all();
  co_await jobs_.stop();
  if (started_) co_await ended_.wait();
}

}  // namespace cellar::server
