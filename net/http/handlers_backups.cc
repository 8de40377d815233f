// Backups: the schedule, the job, and what lies in the scheduled directory.
#include "net/http/api.h"
#include "net/http/http_node.h"
#include "net/http/routes.h"
#include "net/server/requests/backup_jobs.h"
#include "net/server/requests/backup_schedule.h"

namespace cellar::http {

using server::BackupJobs;
using server::BackupOptions;
using server::ShardServer;

namespace {

struct Backups {
  BackupOptions options;
  server::BackupJobStatus job;
  server::BackupCounts counts;
  std::optional<int64_t> newest_us;
  std::vector<engine::BackupSummary> kept;
  std::string problem;  // the directory could not be listed
};

std::string_view kind_name(server::BackupJob::Kind kind) {
  constexpr std::string_view kNames[] = {"none", "take", "verify", "prune", "restore"};
  return kNames[static_cast<size_t>(kind)];
}

// Runs on the home shard. A list may last as long as a mount hangs; BackupJobs bounds their number.
Async<Backups> read_backups(ShardServer& home, bool list) {
  Backups all;
  all.options = home.options().backup;
  BackupJobs* jobs = home.shared().backups;
  if (jobs == nullptr) co_return all;
  if (home.shared().schedule != nullptr) all.newest_us = home.shared().schedule->newest_us();
  if (list && !all.options.into.empty()) {
    auto found = co_await jobs->list(all.options.into, all.options.directories);
    if (found) {
      all.kept = std::move(*found);
    } else {
      all.problem = found.error().message;
    }
  }
  all.job = jobs->status();
  all.counts = jobs->counts();
  co_return all;
}

json::value job_value(const server::BackupJobStatus& status) {
  if (status.number == 0) return nullptr;
  return {{"kind", kind_name(status.job.kind)},
          {"directory", status.job.directory},
          {"name", status.job.name},
          {"running", status.running},
          {"phase", std::string(status.progress.phase)},
          {"bytes_done", status.progress.bytes_done},
          {"bytes_total", status.progress.bytes_total},
          {"error", status.error ? json::value(status.error->message) : json::value()}};
}

json::value backup_value(const engine::BackupSummary& backup) {
  return {{"name", backup.name},        {"program", backup.program},
          {"taken_us", backup.wall_us}, {"tables", backup.tables.size()},
          {"bytes", backup.bytes},      {"copied_bytes", backup.copied_bytes}};
}

// Runs on the home shard.
Async<Result<void>> take(ShardServer& home, engine::Author by) {
  const BackupOptions options = home.options().backup;
  BackupJobs* jobs = home.shared().backups;
  if (jobs == nullptr) co_return fail(Errc::unimplemented, "this node takes no backups");
  if (options.into.empty()) {
    co_return fail(Errc::failed_precondition, "the setting backup.into names no directory");
  }
  server::BackupJob job;
  job.kind = server::BackupJob::Kind::take;
  job.directory = options.into;
  job.by = std::move(by);
  co_return co_await jobs->start(std::move(job), options.directories, options.rate_bytes_per_s);
}

}  // namespace

Async<HttpResponse> handle_backups(HttpNode& node, const HttpRequest& request) {
  const bool list = request.parameter("list") == "1";
  auto look = [list](ShardServer& home) { return read_backups(home, list); };
  const Backups all = co_await node.ask_home(std::move(look));
  json::array kept;
  for (const engine::BackupSummary& one : all.kept) kept.push_back(backup_value(one));
  co_return json_response(
      {{"directories", all.options.directories},
       {"into", all.options.into},
       {"every_us", all.options.every_us},
       {"keep", all.options.keep},
       {"keep_for_us", all.options.keep_for_us},
       {"newest_us", all.newest_us ? json::value(*all.newest_us) : json::value()},
       {"taken", all.counts.taken},
       {"failed", all.counts.failed},
       {"job", job_value(all.job)},
       {"problem", all.problem},
       {"backups", std::move(kept)}});
}

Async<HttpResponse> handle_take_backup(HttpNode& node, const HttpRequest& request) {
  engine::Author by = author_of(request);
  auto there = [&by](ShardServer& home) { return take(home, std::move(by)); };
  const Result<void> started = co_await node.ask_home(std::move(there));
  if (!started) co_return json_error(started.error());
  co_return json_response({{"started", true}});
}

}  // namespace cellar::http
