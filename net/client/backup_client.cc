#include "net/client/backup_client.h"

#include <flatbuffers/flatbuffers.h>

#include "io/runtime/shard_loop.h"
#include "io/runtime/tcp_transport.h"
#include "net/client/dispatcher.h"
#include "net/client/encode.h"
#include "net/wire/body.h"
#include "net/wire/operate.h"
#include "net/wire/status.h"

namespace cellar::client {

namespace fb = wire::fb;

namespace {

constexpr int kFarewellTurns = 16;  // enough for closed connections to end

struct Ask {
  explicit Ask(fb::BackupAction what, std::string_view where = {}, std::string_view which = {})
      : action(what), directory(where), name(which) {}
  fb::BackupAction action;
  std::string_view directory, name, table, new_table;
  std::vector<std::string> tables;
  uint32_t keep = 0;
};

Request encode(const Ask& ask) {
  flatbuffers::FlatBufferBuilder b;
  const auto text = [&b](std::string_view s) { return b.CreateString(s.data(), s.size()); };
  const auto directory = text(ask.directory);
  const auto name = text(ask.name);
  const auto tables = b.CreateVectorOfStrings(ask.tables);
  const auto table = text(ask.table);
  const auto new_table = text(ask.new_table);
  const auto root =
      fb::CreateBackupRequest(b, ask.action, directory, name, tables, ask.keep, table, new_table);
  const Bytes body = wire::finish_body(b, root);
  wire::FrameHeader header;
  header.op = wire::kBackupOp;
  header.body_bytes = static_cast<uint32_t>(body.size());
  Request request;
  wire::append_header(request.frame, header);
  request.frame.append(body);
  const bool looks = ask.action == fb::BackupAction::Status || ask.action == fb::BackupAction::List;
  request.writes = !looks;
  request.repeat = looks ? Repeat::always : Repeat::unless_applied;
  return request;
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
  explicit Inside(ClientOptions asked) : options(std::move(asked)) {
    network = std::make_unique<TcpNetwork>(loop.executor(), loop.timers());
    const ClientEnv env{loop.executor(), loop.timers(), *network, entropy_seed()};
    dispatcher.emplace(env, options, std::make_shared<Encoder>(entropy_seed()), pool);
  }

  Result<BackupStatus> ask(const Ask& what) {
    std::optional<Result<BackupStatus>> result;
    Request request = encode(what);
    request.deadline_us = options.admin_deadline_us;
    request.wait = options.wait_for_connection;
    loop.turn(false);
    auto handler = [&result](Result<BackupStatus> r) { result.emplace(std::move(r)); };
    auto* completion = HandlerCompletion<BackupStatus, decltype(handler)>::make(
        pool, loop.executor(), std::move(handler));
    dispatcher->submit(*UnaryCall<BackupStatus>::make(pool, loop.timers(), std::move(request),
                                                      &decode_backup, false, completion));
    while (!result) loop.turn(true);
    return *std::move(result);
  }

  ClientOptions options;
  std::unique_ptr<TcpNetwork> network;  // outlives what is suspended on the loop
  ShardLoop loop;
  std::shared_ptr<BlockPool> pool = std::make_shared<BlockPool>();
  std::optional<Dispatcher> dispatcher;
};

BackupClient::BackupClient(ClientOptions options)
    : inside_(std::make_unique<Inside>(std::move(options))) {}

BackupClient::~BackupClient() {
  inside_->dispatcher->close();
  for (int i = 0; i < kFarewellTurns; ++i) inside_->loop.turn(false);
}

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

void BackupClient::sleep_us(int64_t us) {
  bool over = false;
  Timer timer(inside_->loop.timers(), [](void* flag) { *static_cast<bool*>(flag) = true; }, &over);
  inside_->loop.turn(false);
  timer.arm_after_us(us);
  while (!over) inside_->loop.turn(true);
}

}  // namespace cellar::client
