#include "net/client/sync_client.h"

#include <utility>

namespace cellar::client {

// A completion token: the initiating call runs the loop until the operation has ended and returns
// its result.
struct Blocking {
  ShardLoop& loop;
};

}  // namespace cellar::client

namespace boost::asio {

template <class T>
struct async_result<cellar::client::Blocking, void(cellar::Result<T>)> {
  template <class Initiation, class... Args>
  static cellar::Result<T> initiate(Initiation initiation, const cellar::client::Blocking& token,
                                    Args&&... args) {
    std::optional<cellar::Result<T>> result;
    token.loop.turn(false);  // updates the loop's time and idle connections
    std::move(initiation)([&result](cellar::Result<T> r) { result.emplace(std::move(r)); },
                          std::forward<Args>(args)...);
    while (!result) token.loop.turn(true);
    return *std::move(result);
  }
};

}  // namespace boost::asio

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
  return client_->async_mutate_row(table, m, o, Blocking{loop_});
}

Result<EntryResults> SyncClient::mutate_rows(std::string_view table,
                                             const std::vector<Mutation>& entries,
                                             const CallOptions& o) {
  return client_->async_mutate_rows(table, entries, o, Blocking{loop_});
}

Result<std::optional<Row>> SyncClient::read_row(std::string_view table, const ReadRow& read,
                                                const CallOptions& o) {
  return client_->async_read_row(table, read, o, Blocking{loop_});
}

Result<DropReply> SyncClient::drop_row_range(std::string_view table, const DropRows& drop,
                                             const CallOptions& o) {
  return client_->async_drop_row_range(table, drop, o, Blocking{loop_});
}

Result<CheckAndMutateReply> SyncClient::check_and_mutate(std::string_view table,
                                                         const CheckAndMutate& check,
                                                         const CallOptions& o) {
  return client_->async_check_and_mutate(table, check, o, Blocking{loop_});
}

Result<Row> SyncClient::read_modify_write(std::string_view table, const ReadModifyWrite& modify,
                                          const CallOptions& o) {
  return client_->async_read_modify_write(table, modify, o, Blocking{loop_});
}

Result<std::vector<SplitPoint>> SyncClient::sample_row_keys(std::string_view table) {
  return client_->async_sample_row_keys(table, Blocking{loop_});
}

ReadStream SyncClient::read_rows(std::string_view table, const ReadRows& read,
                                 const CallOptions& o) {
  return client_->read_rows(table, read, o);
}

ReadStream SyncClient::read_index(std::string_view table, const ReadIndex& read,
                                  const CallOptions& o) {
  return client_->read_index(table, read, o);
}

Result<CellBlock> SyncClient::next(ReadStream& stream) {
  return stream.async_next(Blocking{loop_});
}

Result<void> SyncClient::add(BatchWriter& writer, Mutation m) {
  return writer.async_add(std::move(m), Blocking{loop_});
}

Result<void> SyncClient::flush(BatchWriter& writer) { return writer.async_flush(Blocking{loop_}); }

Result<void> SyncClient::close(BatchWriter& writer) { return writer.async_close(Blocking{loop_}); }

Result<TableDescription> SyncClient::create_table(const TableSpec& spec) {
  return client_->async_create_table(spec, Blocking{loop_});
}

Result<TableDescription> SyncClient::alter_table(const TableChange& change) {
  return client_->async_alter_table(change, Blocking{loop_});
}

Result<void> SyncClient::drop_table(std::string_view name) {
  return client_->async_drop_table(name, Blocking{loop_});
}

Result<TableDescription> SyncClient::restore_table(std::string_view name) {
  return client_->async_restore_table(name, Blocking{loop_});
}

Result<std::vector<TableSummary>> SyncClient::list_tables(const ListTables& list) {
  return client_->async_list_tables(list, Blocking{loop_});
}

Result<TableDescription> SyncClient::describe_table(std::string_view name) {
  return client_->async_describe_table(name, Blocking{loop_});
}

Result<PreviewReply> SyncClient::preview_rule(
    const PreviewRule& preview, const std::function<void(const PreviewProgress&)>& progress,
    const CallOptions& o) {
  return client_->async_preview_rule(preview, progress, o, Blocking{loop_});
}

Result<RuleHistory> SyncClient::rule_history(std::string_view table, std::string_view family) {
  return client_->async_rule_history(table, family, Blocking{loop_});
}

Result<TableDescription> SyncClient::undo_rule(const UndoRule& undo) {
  return client_->async_undo_rule(undo, Blocking{loop_});
}

Result<TableDescription> SyncClient::create_index(std::string_view table, const IndexSpec& index) {
  return client_->async_create_index(table, index, Blocking{loop_});
}

Result<TableDescription> SyncClient::alter_index(const AlterIndex& change) {
  return client_->async_alter_index(change, Blocking{loop_});
}

Result<TableDescription> SyncClient::drop_index(std::string_view table, std::string_view name) {
  return client_->async_drop_index(table, name, Blocking{loop_});
}

Result<std::vector<IndexDescription>> SyncClient::describe_indexes(std::string_view table) {
  return client_->async_describe_indexes(table, Blocking{loop_});
}

Result<IndexCheck> SyncClient::check_index(const CheckIndex& check,
                                           const std::function<void(const IndexCheck&)>& progress,
                                           const CallOptions& o) {
  return client_->async_check_index(check, progress, o, Blocking{loop_});
}

Result<AuditPage> SyncClient::audit_log(const AuditLog& log) {
  return client_->async_audit_log(log, Blocking{loop_});
}

Result<void> SyncClient::flush_table(std::string_view name) {
  return client_->async_flush_table(name, Blocking{loop_});
}

Result<void> SyncClient::compact_table(std::string_view name) {
  return client_->async_compact_table(name, Blocking{loop_});
}

Result<std::vector<TabletDescription>> SyncClient::split_tablet(const SplitTablet& split) {
  return client_->async_split_tablet(split, Blocking{loop_});
}

Result<std::vector<TabletDescription>> SyncClient::merge_tablets(std::string_view table,
                                                                 uint64_t left, uint64_t right) {
  return client_->async_merge_tablets(table, left, right, Blocking{loop_});
}

Result<std::vector<TabletDescription>> SyncClient::move_tablet(std::string_view table,
                                                               uint64_t tablet_id, uint32_t shard) {
  return client_->async_move_tablet(table, tablet_id, shard, Blocking{loop_});
}

Result<TabletPage> SyncClient::list_tablets(const ListTablets& list) {
  return client_->async_list_tablets(list, Blocking{loop_});
}

Result<ClockReport> SyncClient::clock() { return client_->async_clock(Blocking{loop_}); }

Result<ClockReport> SyncClient::confirm_time(int64_t max_held_us) {
  return client_->async_confirm_time(max_held_us, Blocking{loop_});
}

Result<BackupStatus> SyncClient::backup(const BackupCommand& command) {
  return client_->async_backup(command, Blocking{loop_});
}

Result<ControlStatus> SyncClient::control(ControlAction action) {
  return client_->async_control(action, Blocking{loop_});
}

Result<ReclaimReport> SyncClient::reclaim_report(const ReclaimQuestion& question) {
  return client_->async_reclaim_report(question, Blocking{loop_});
}

void SyncClient::sleep_us(int64_t us) {
  bool over = false;
  Timer timer(loop_.timers(), [](void* flag) { *static_cast<bool*>(flag) = true; }, &over);
  loop_.turn(false);
  timer.arm_after_us(us);
  while (!over) loop_.turn(true);
}

Result<ServerInfo> SyncClient::server_info() { return client_->async_server_info(Blocking{loop_}); }

Result<Pong> SyncClient::ping() { return client_->async_ping(Blocking{loop_}); }

}  // namespace cellar::client
