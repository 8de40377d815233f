#include "net/server/requests/backup_jobs.h"

#include <ctime>

#include "engine/node.h"
#include "io/base/log.h"
#include "net/server/config/backup_directories.h"

namespace cellar::server {
namespace {

// "20261121T231058Z".
std::string name_of_moment(int64_t wall_us) {
  const std::time_t seconds = wall_us / 1'000'000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

}  // namespace

Async<Result<void>> BackupJobs::start(BackupJob job, std::string allowed,
                                      uint64_t rate_bytes_per_s) {
  if (opening_) {
    co_return fail(Errc::failed_precondition, "another job opens its directory");
  }
  if (status_.running) {
    co_return fail(Errc::failed_precondition, "another job runs: {} '{}', {} of {} bytes",
                   status_.progress.phase, status_.job.name, status_.progress.bytes_done,
                   status_.progress.bytes_total);
  }
  CO_TRY_VOID(check_backup_directory(job.directory, allowed));
  if (job.kind == BackupJob::Kind::take && job.name.empty()) {
    job.name = name_of_moment(runtime_.clock.machine().wall_us());
  }
  if (!job.name.empty()) CO_TRY_VOID(engine::check_backup_name(job.name));
  auto pass = running_.enter();
  if (!pass) co_return fail(Errc::unavailable, "the node ends");
  opening_ = true;
  DirectoryRequest request{job.directory, directories_of(allowed),
                           job.kind == BackupJob::Kind::take};
  Result<Place> place = co_await open_(std::move(request));
  opening_ = false;
  if (!place) co_return std::unexpected(std::move(place).error());
  status_ = {.number = status_.number + 1,
             .job = std::move(job),
             .running = true,
             .progress = {},
             .error = {},
             .found = {}};
  status_.progress.rate_bytes_per_s = rate_bytes_per_s;
  spawn(runtime_.executor, run(*std::move(place)));
  co_return Result<void>();
}

Async<void> BackupJobs::run(Place place) {
  auto pass = running_.enter();
  if (pass) {
    place_ = place.get();
    co_await carry_out_at(*place);
    place_ = nullptr;
  } else {
    status_.running = false;
  }
  co_await place->close();
}

Async<void> BackupJobs::carry_out_at(engine::BackupPlace& place) {
  const Result<void> done = co_await carry_out(place.store());
  status_.running = false;
  status_.progress.phase = done ? "done" : "failed";
  if (status_.job.kind == BackupJob::Kind::take) count(done.has_value());
  if (done) {
    log_info("backup", "job done number={} kind={} name={} bytes={} copied_bytes={}",
             status_.number, static_cast<int>(status_.job.kind), status_.job.name,
             status_.progress.bytes_done, status_.progress.copied_bytes);
    co_return;
  }
  status_.error = done.error();
  log_warn("backup", "job failed number={} kind={} name={} error=\"{}\"", status_.number,
           static_cast<int>(status_.job.kind), status_.job.name, done.error().message);
}

void BackupJobs::count(bool done) {
  ++(done ? counts_.taken : counts_.failed);
  if (done) counts_.newest_us = runtime_.clock.machine().wall_us();
}

// The newest one if no name is given.
Async<Result<std::string>> BackupJobs::choose(engine::BackupStore& store) {
  if (!status_.job.name.empty()) co_return status_.job.name;
  CO_TRY(const auto all, co_await engine::list_backups(store));
  if (all.empty()) {
    co_return fail(Errc::not_found, "there is no backup in '{}'", status_.job.directory);
  }
  status_.job.name = all.back().name;
  co_return status_.job.name;
}

Async<Result<void>> BackupJobs::carry_out(engine::BackupStore& store) {
  const BackupJob& job = status_.job;
  const ShardId home{0};
  engine::BackupProgress& progress = status_.progress;
  switch (job.kind) {
    case BackupJob::Kind::take: {
      engine::BackupRequest request{job.name, job.tables, source_.directory_id, source_.program};
      co_return co_await node_.back_up(home, store, std::move(request), progress);
    }
    case BackupJob::Kind::verify: {
      CO_TRY(std::string name, co_await choose(store));
      CO_TRY(engine::BackupSummary summary,
             co_await engine::verify_backup(store, std::move(name), runtime_.timers,
                                            runtime_.executor, progress));
      status_.found.push_back(std::move(summary));
      co_return Result<void>();
    }
    case BackupJob::Kind::prune: {
      CO_TRY(const auto gone, co_await engine::prune_backups(store, job.keep, job.taken_from_us));
      for (const std::string& name : gone) status_.found.emplace_back().name = name;
      co_return Result<void>();
    }
    case BackupJob::Kind::restore: {
      CO_TRY(std::string name, co_await choose(store));
      engine::RestoreRequest request{std::move(name), job.table, job.new_table};
      CO_TRY(const engine::TableEntry table,
             co_await node_.restore_backup(home, store, std::move(request), job.by, progress));
      log_info("backup", "restored table={} id={} tablets={}", table.schema.name, table.schema.id,
               table.tablets.size());
      co_return Result<void>();
    }
    case BackupJob::Kind::none:
      break;
  }
  co_return fail(Errc::invalid_argument, "no such job");
}

Async<Result<std::vector<engine::BackupSummary>>> BackupJobs::list(std::string directory,
                                                                   std::string allowed) {
  CO_TRY_VOID(check_backup_directory(directory, allowed));
  auto pass = running_.enter();
  if (!pass) co_return fail(Errc::unavailable, "the node ends");
  if (lists_ == kMaxLists) {
    co_return fail(Errc::resource_exhausted, "{} directories of backups are being listed",
                   kMaxLists);
  }
  ++lists_;
  auto backups = co_await list_in(std::move(directory), directories_of(allowed));
  --lists_;
  co_return backups;
}

Async<Result<std::vector<engine::BackupSummary>>> BackupJobs::list_in(
    std::string directory, std::vector<std::string> within) {
  DirectoryRequest request{std::move(directory), std::move(within), false};
  CO_TRY(const Place place, co_await open_(std::move(request)));
  auto backups = co_await engine::list_backups(place->store());
  co_await place->close();
  co_return backups;
}

Async<void> BackupJobs::stop() {
  cancel();
  if (place_ != nullptr) co_await place_->interrupt();
  co_await running_.close();
}

}  // namespace cellar::server
