#include "net/client/calls/backup_client.h"

#include <flatbuffers/flatbuffers.h>

#include "net/client/calls/operate_loop.h"
#include "net/wire/body.h"
#include "net/wire/operate.h"
#include "net/wire/status.h"

namespace cellar::client {

namespace fb = wire::fb;

namespace {

struct Ask {
  explicit Ask(fb::BackupAction what, std::string_view where = {}, std::string_view which = {})
      : action(what), directory(where), name(which) {}
  fb::BackupAction action;
  std::string_view directory, name, table, new_table;
  std::vector<std::string> tables;
  uint32_t keep = 0;
};

Bytes encode(flatbuffers::FlatBufferBuilder& b, const Ask& ask) {
  const auto text = [&b](std::string_view s) { return b.CreateString(s.data(), s.size()); };
  const auto directory = text(ask.directory);
  const auto name = text(ask.name);
  const auto tables = b.CreateVectorOfStrings(ask.tables);
  const auto table = text(ask.table);
  const auto new_table = text(ask.new_table);
  return wire::finish_body(b, fb::CreateBackupRequest(b, ask.action, directory, name, tables,
                                                      ask.keep, table, new_table));
}

BackupInfo info_of(const fb::BackupRec& from) {
  BackupInfo to;
  to.name = wire::text(from.name());
  to.program = wire::text(from.program());
  to.wall_us = from.wall_us();
  to.trusted_us = from.trusted_us();
  if (const auto* tables = from.tables()) {
    for (const auto* table : *tables) to.tables.emplace_back(wire::text(table));
  }
  to.blobs = from.blobs();
  to.bytes = from.bytes();
  to.copied_bytes = from.copied_bytes();
  return to;
}

Result<BackupStatus> decode_backup(const Answer& answer) {
  const auto* reply = wire::verified<fb::BackupReply>(answer.last.body);
  if (reply == nullptr) return fail(Errc::internal, "the server's answer cannot be read");
  BackupStatus status;
  status.job = reply->job();
  status.directory = wire::text(reply->directory());
  status.name = wire::text(reply->name());
  status.phase = wire::text(reply->phase());
  status.running = reply->running();
  status.bytes_total = reply->bytes_total();
  status.bytes_done = reply->bytes_done();
  status.blobs_total = reply->blobs_total();
  status.blobs_done = reply->blobs_done();
  status.copied_bytes = reply->copied_bytes();
  if (reply->code() != 0) {
    status.error =
        Error(static_cast<Errc>(reply->code()), std::string(wire::text(reply->message())));
  }
  if (const auto* backups = reply->backups()) {
    for (const auto* one : *backups) status.backups.push_back(info_of(*one));
  }
  return status;
}

}  // namespace

struct BackupClient::Inside {
  explicit Inside(ClientOptions options) : loop(std::move(options)) {}

  Result<BackupStatus> ask(const Ask& what) {
    flatbuffers::FlatBufferBuilder builder;
    const Bytes body = encode(builder, what);
    const bool looks =
        what.action == fb::BackupAction::Status || what.action == fb::BackupAction::List;
    return loop.ask<BackupStatus>(wire::kBackupOp, body, looks, &decode_backup);
  }

  OperateLoop loop;
};

BackupClient::BackupClient(ClientOptions options)
    : inside_(std::make_unique<Inside>(std::move(options))) {}

BackupClient::~BackupClient() = default;

Result<BackupStatus> BackupClient::take(std::string_view directory, std::string_view name,
                                        const std::vector<std::string>& tables) {
  Ask ask(fb::BackupAction::Take, directory, name);
  ask.tables = tables;
  return inside_->ask(ask);
}

Result<BackupStatus> BackupClient::verify(std::string_view directory, std::string_view name) {
  return inside_->ask(Ask(fb::BackupAction::Verify, directory, name));
}

Result<BackupStatus> BackupClient::prune(std::string_view directory, uint32_t keep) {
  Ask ask(fb::BackupAction::Prune, directory);
  ask.keep = keep;
  return inside_->ask(ask);
}

Result<BackupStatus> BackupClient::restore(std::string_view directory, std::string_view name,
                                           std::string_view table, std::string_view new_table) {
  Ask ask(fb::BackupAction::Restore, directory, name);
  ask.table = table;
  ask.new_table = new_table;
  return inside_->ask(ask);
}

Result<BackupStatus> BackupClient::status() { return inside_->ask(Ask(fb::BackupAction::Status)); }

Result<BackupStatus> BackupClient::cancel() { return inside_->ask(Ask(fb::BackupAction::Cancel)); }

Result<std::vector<BackupInfo>> BackupClient::list(std::string_view directory) {
  TRY(BackupStatus status, inside_->ask(Ask(fb::BackupAction::List, directory)));
  return std::move(status.backups);
}

void BackupClient::sleep_us(int64_t us) { inside_->loop.sleep_us(us); }

}  // namespace cellar::client
