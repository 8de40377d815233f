#include "net/client/sync_client.h"

#include <utility>

namespace cellar::client {

namespace {

constexpr int kFarewellTurns = 16;  // enough for closed connections to end

}  // namespace

SyncClient::SyncClient(ClientOptions options) {
  network_ = std::make_unique<TcpNetwork>(loop_.executor(), loop_.timers());
  const ClientEnv env{loop_.executor(), loop_.timers(), *network_, entropy_seed()};
  client_ = std::make_unique<Client>(env, std::move(options));
}

SyncClient::~SyncClient() {
  client_->close();
  for (int i = 0; i < kFarewellTurns; ++i) loop_.turn(false);
}

Result<MutateReply> SyncClient::mutate_row(std::string_view table, const Mutation& m,
                                           const CallOptions& o) {
  return wait<MutateReply>(
      [&](auto token) { client_->async_mutate_row(table, m, o, std::move(token)); });
}

Result<EntryResults> SyncClient::mutate_rows(std::string_view table,
                                             const std::vector<Mutation>& entries,
                                             const CallOptions& o) {
  return wait<EntryResults>(
      [&](auto token) { client_->async_mutate_rows(table, entries, o, std::move(token)); });
}

Result<std::optional<Row>> SyncClient::read_row(std::string_view table, const ReadRow& read,
                                                const CallOptions& o) {
  return wait<std::optional<Row>>(
      [&](auto token) { client_->async_read_row(table, read, o, std::move(token)); });
}

Result<uint32_t> SyncClient::drop_row_range(std::string_view table, const DropRows& drop,
                                            const CallOptions& o) {
  return wait<uint32_t>(
      [&](auto token) { client_->async_drop_row_range(table, drop, o, std::move(token)); });
}

Result<CheckAndMutateReply> SyncClient::check_and_mutate(std::string_view table,
                                                         const CheckAndMutate& check,
                                                         const CallOptions& o) {
  return wait<CheckAndMutateReply>(
      [&](auto token) { client_->async_check_and_mutate(table, check, o, std::move(token)); });
}

Result<Row> SyncClient::read_modify_write(std::string_view table, const ReadModifyWrite& modify,
                                          const CallOptions& o) {
  return wait<Row>(
      [&](auto token) { client_->async_read_modify_write(table, modify, o, std::move(token)); });
}

Result<std::vector<SplitPoint>> SyncClient::sample_row_keys(std::string_view table) {
  return wait<std::vector<SplitPoint>>(
      [&](auto token) { client_->async_sample_row_keys(table, std::move(token)); });
}

ReadStream SyncClient::read_rows(std::string_view table, const ReadRows& read,
                                 const CallOptions& o) {
  return client_->read_rows(table, read, o);
}

Result<CellBlock> SyncClient::next(ReadStream& stream) {
  return wait<CellBlock>([&](auto token) { stream.async_next(std::move(token)); });
}

Result<void> SyncClient::add(BatchWriter& writer, Mutation m) {
  return wait<void>([&](auto token) { writer.async_add(std::move(m), std::move(token)); });
}

Result<void> SyncClient::flush(BatchWriter& writer) {
  return wait<void>([&](auto token) { writer.async_flush(std::move(token)); });
}

Result<void> SyncClient::close(BatchWriter& writer) {
  return wait<void>([&](auto token) { writer.async_close(std::move(token)); });
}

Result<TableDescription> SyncClient::create_table(const TableSpec& spec) {
  return wait<TableDescription>(
      [&](auto token) { client_->async_create_table(spec, std::move(token)); });
}

Result<TableDescription> SyncClient::alter_table(const TableChange& change) {
  return wait<TableDescription>(
      [&](auto token) { client_->async_alter_table(change, std::move(token)); });
}

Result<void> SyncClient::drop_table(std::string_view name) {
  return wait<void>([&](auto token) { client_->async_drop_table(name, std::move(token)); });
}

Result<TableDescription> SyncClient::restore_table(std::string_view name) {
  return wait<TableDescription>(
      [&](auto token) { client_->async_restore_table(name, std::move(token)); });
}

Result<std::vector<TableSummary>> SyncClient::list_tables(const ListTables& list) {
  return wait<std::vector<TableSummary>>(
      [&](auto token) { client_->async_list_tables(list, std::move(token)); });
}

Result<TableDescription> SyncClient::describe_table(std::string_view name) {
  return wait<TableDescription>(
      [&](auto token) { client_->async_describe_table(name, std::move(token)); });
}

Result<PreviewReply> SyncClient::preview_rule(
    const PreviewRule& preview, const std::function<void(const PreviewProgress&)>& progress,
    const CallOptions& o) {
  return wait<PreviewReply>(
      [&](auto token) { client_->async_preview_rule(preview, progress, o, std::move(token)); });
}

Result<RuleHistory> SyncClient::rule_history(std::string_view table, std::string_view family) {
  return wait<RuleHistory>(
      [&](auto token) { client_->async_rule_history(table, family, std::move(token)); });
}

Result<TableDescription> SyncClient::undo_rule(const UndoRule& undo) {
  return wait<TableDescription>(
      [&](auto token) { client_->async_undo_rule(undo, std::move(token)); });
}

Result<AuditPage> SyncClient::audit_log(const AuditLog& log) {
  return wait<AuditPage>([&](auto token) { client_->async_audit_log(log, std::move(token)); });
}

Result<void> SyncClient::flush_table(std::string_view name) {
  return wait<void>([&](auto token) { client_->async_flush_table(name, std::move(token)); });
}

Result<void> SyncClient::compact_table(std::string_view name) {
  return wait<void>([&](auto token) { client_->async_compact_table(name, std::move(token)); });
}

Result<std::vector<TabletDescription>> SyncClient::split_tablet(const SplitTablet& split) {
  return wait<std::vector<TabletDescription>>(
      [&](auto token) { client_->async_split_tablet(split, std::move(token)); });
}

Result<std::vector<TabletDescription>> SyncClient::merge_tablets(std::string_view table,
                                                                 uint64_t left, uint64_t right) {
  return wait<std::vector<TabletDescription>>(
      [&](auto token) { client_->async_merge_tablets(table, left, right, std::move(token)); });
}

Result<std::vector<TabletDescription>> SyncClient::move_tablet(std::string_view table,
                                                               uint64_t tablet_id, uint32_t shard) {
  return wait<std::vector<TabletDescription>>(
      [&](auto token) { client_->async_move_tablet(table, tablet_id, shard, std::move(token)); });
}

Result<TabletPage> SyncClient::list_tablets(const ListTablets& list) {
  return wait<TabletPage>([&](auto token) { client_->async_list_tablets(list, std::move(token)); });
}

Result<ClockReport> SyncClient::clock() {
  return wait<ClockReport>([&](auto token) { client_->async_clock(std::move(token)); });
}

Result<ClockReport> SyncClient::confirm_time(int64_t max_held_us) {
  return wait<ClockReport>(
      [&](auto token) { client_->async_confirm_time(max_held_us, std::move(token)); });
}

Result<BackupStatus> SyncClient::backup(const BackupCommand& command) {
  return wait<BackupStatus>([&](auto token) { client_->async_backup(command, std::move(token)); });
}

Result<ControlStatus> SyncClient::control(ControlAction action) {
  return wait<ControlStatus>([&](auto token) { client_->async_control(action, std::move(token)); });
}

Result<ReclaimReport> SyncClient::reclaim_report(const ReclaimQuestion& question) {
  return wait<ReclaimReport>(
      [&](auto token) { client_->async_reclaim_report(question, std::move(token)); });
}

void SyncClient::sleep_us(int64_t us) {
  bool over = false;
  Timer timer(loop_.timers(), [](void* flag) { *static_cast<bool*>(flag) = true; }, &over);
  loop_.turn(false);
  timer.arm_after_us(us);
  while (!over) loop_.turn(true);
}

Result<ServerInfo> SyncClient::server_info() {
  return wait<ServerInfo>([&](auto token) { client_->async_server_info(std::move(token)); });
}

Result<Pong> SyncClient::ping() {
  return wait<Pong>([&](auto token) { client_->async_ping(std::move(token)); });
}

}  // namespace cellar::client
