// Backup: starts and queries jobs on the home shard (backup_jobs.h).
#include "net/server/requests/backup_jobs.h"
#include "net/server/requests/dispatch.h"
#include "net/server/shard/shard_server.h"
#include "net/wire/operate.h"
#include "net/wire/status.h"

namespace cellar::server {

using wire::Frame;
namespace fb = wire::fb;

namespace {

using Builder = flatbuffers::FlatBufferBuilder;
constexpr size_t kMaxTablesNamed = 10'000;

// The home shard's answer.
struct BackupAnswer {
  BackupJobStatus status;
  std::vector<engine::BackupSummary> listed;
};

flatbuffers::Offset<fb::BackupRec> put_backup(Builder& builder,
                                              const engine::BackupSummary& backup) {
  const auto name = builder.CreateString(backup.name);
  const auto program = builder.CreateString(backup.program);
  const auto tables = builder.CreateVectorOfStrings(backup.tables);
  return fb::CreateBackupRec(builder, name, program, backup.wall_us, backup.trusted_us, tables,
                             backup.blobs, backup.bytes, backup.copied_bytes);
}

Bytes build_answer(Builder& builder, const BackupAnswer& answer) {
  builder.Clear();
  const BackupJobStatus& status = answer.status;
  const auto& summaries = answer.listed.empty() ? status.found : answer.listed;
  std::vector<flatbuffers::Offset<fb::BackupRec>> backups;
  for (const engine::BackupSummary& one : summaries) backups.push_back(put_backup(builder, one));
  const auto list = builder.CreateVector(backups);
  const auto directory = builder.CreateString(status.job.directory);
  const auto name = builder.CreateString(status.job.name);
  const auto phase = builder.CreateString(std::string(status.progress.phase));
  const auto message = builder.CreateString(status.error ? status.error->message : "");
  fb::BackupReplyBuilder reply(builder);
  reply.add_job(status.number);
  reply.add_action(static_cast<fb::BackupAction>(status.job.kind));
  reply.add_directory(directory);
  reply.add_name(name);
  reply.add_running(status.running);
  reply.add_phase(phase);
  reply.add_bytes_total(status.progress.bytes_total);
  reply.add_bytes_done(status.progress.bytes_done);
  reply.add_blobs_total(status.progress.blobs_total);
  reply.add_blobs_done(status.progress.blobs_done);
  reply.add_copied_bytes(status.progress.copied_bytes);
  reply.add_code(status.error ? static_cast<uint8_t>(status.error->code) : 0);
  reply.add_message(message);
  reply.add_backups(list);
  return wire::finish_body(builder, reply.Finish());
}

// Runs on the home shard.
Async<Result<BackupAnswer>> ask(BackupJobs& jobs, fb::BackupAction action, BackupJob job,
                                const ServerOptions& options) {
  BackupAnswer answer;
  switch (action) {
    case fb::BackupAction::Status:
      break;
    case fb::BackupAction::Cancel:
      jobs.cancel();
      break;
    case fb::BackupAction::List: {
      CO_TRY(answer.listed, co_await jobs.list(job.directory, options.backup.directories));
      co_return answer;  // concerns the directory, not a job
    }
    default:
      CO_TRY_VOID(co_await jobs.start(std::move(job), options.backup.directories,
                                      options.backup.rate_bytes_per_s));
  }
  answer.status = jobs.status();
  co_return answer;
}

Async<Result<Bytes>> backup(LocalShard& shard, NodeShared& node, fb::BackupAction action,
                            BackupJob job) {
  auto there = [&node, action, mine = std::move(job)]() mutable {
    const ServerOptions& options = node.shard(ShardId{0}).options();
    return ask(*node.backups, action, std::move(mine), options);
  };
  CO_TRY(const BackupAnswer answer, co_await shard.mailbox().call_on(ShardId{0}, std::move(there)));
  co_return build_answer(shard.builder(), answer);
}

}  // namespace

Handled handle_backup(LocalShard& shard, NodeShared& node, Session& session, const Frame& frame) {
  if (node.backups == nullptr) return fail(Errc::unimplemented, "this node takes no backups");
  BackupJob job;
  fb::BackupAction action = fb::BackupAction::Status;
  if (!frame.body.empty()) {
    TRY(const auto* request, body_of<fb::BackupRequest>(frame));
    action = request->action();
    if (action > fb::BackupAction::MAX) return fail(Errc::invalid_argument, "no such action");
    job.kind = action <= fb::BackupAction::Restore ? static_cast<BackupJob::Kind>(action)
                                                   : BackupJob::Kind::none;
    job.directory = wire::text(request->directory());
    job.name = wire::text(request->name());
    job.keep = request->keep();
    job.table = wire::text(request->table());
    job.new_table = wire::text(request->new_table());
    if (const auto* tables = request->tables()) {
      if (tables->size() > kMaxTablesNamed) {
        return fail(Errc::invalid_argument, "more than 10,000 tables are named");
      }
      for (const auto* table : *tables) job.tables.emplace_back(wire::text(table));
    }
  }
  if (action == fb::BackupAction::Restore) TRY_VOID(shard.admit_growth());
  job.by = session.author();
  return answer_with(shard, session, frame.header, backup(shard, node, action, std::move(job)));
}

}  // namespace cellar::server
