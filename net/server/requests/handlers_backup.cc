// Backup: starts and queries jobs on the home shard (backup_jobs.h).
#include "net/server/requests/backup_jobs.h"
#include "net/server/requests/dispatch.h"
#include "net/server/shard/shard_server.h"
#include "net/wire/operate.h"
#include "net/wire/status.h"

namespace cellar::server {

using wire::Frame;
using wire::FrameHeader;
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

void reply_backup(LocalShard& shard, Session& session, const FrameHeader& header,
                  const BackupAnswer& answer) {
  Builder& builder = shard.builder();
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
  session.reply(header, wire::finish_body(builder, reply.Finish()));
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

Async<void> backup(LocalShard& shard, NodeShared& node, Session& session, FrameHeader header,
                   fb::BackupAction action, BackupJob job) {
  auto there = [&node, action, mine = std::move(job)]() mutable {
    const ServerOptions& options = node.shard(ShardId{0}).options();
    return ask(*node.backups, action, std::move(mine), options);
  };
  const Result<BackupAnswer> answer =
      co_await shard.mailbox().call_on(ShardId{0}, std::move(there));
  if (!answer) co_return session.reply_error(header, answer.error());
  reply_backup(shard, session, header, *answer);
}

}  // namespace

void handle_backup(LocalShard& shard, NodeShared& node, Session& session, const Frame& frame) {
  const auto refuse = [&](Errc code, std::string_view why) {
    session.reply_error(frame.header, Error(code, std::string(why)));
  };
  if (node.backups == nullptr) {
    return refuse(Errc::unimplemented, "this node takes no backups");
  }
  BackupJob job;
  fb::BackupAction action = fb::BackupAction::Status;
  if (!frame.body.empty()) {
    const auto* request = wire::verified<fb::BackupRequest>(frame.body);
    if (request == nullptr) {
      return session.reply_malformed(
          frame.header, Error(Errc::invalid_argument, "the body is no Backup request"));
    }
    action = request->action();
    if (action > fb::BackupAction::MAX) return refuse(Errc::invalid_argument, "no such action");
    job.kind = action <= fb::BackupAction::Restore ? static_cast<BackupJob::Kind>(action)
                                                   : BackupJob::Kind::none;
    job.directory = wire::text(request->directory());
    job.name = wire::text(request->name());
    job.keep = request->keep();
    job.table = wire::text(request->table());
    job.new_table = wire::text(request->new_table());
    if (const auto* tables = request->tables()) {
      if (tables->size() > kMaxTablesNamed) {
        return refuse(Errc::invalid_argument, "more than 10,000 tables are named");
      }
      for (const auto* table : *tables) job.tables.emplace_back(wire::text(table));
    }
  }
  if (auto room = shard.admit_growth(); action == fb::BackupAction::Restore && !room) {
    return session.reply_error(frame.header, room.error());
  }
  job.by = session.author();
  spawn(shard.executor(), backup(shard, node, session, frame.header, action, std::move(job)));
}

}  // namespace cellar::server
