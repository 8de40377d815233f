// SyncClient: a blocking client for sequential programs: the command line, tests, scripts. It runs
// its own loop on the calling thread during each call.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "io/loop/shard_loop.h"
#include "io/net/tcp_transport.h"
#include "net/client/batch_writer.h"
#include "net/client/client.h"

namespace cellar::client {

// Single-threaded. Connections are served only during a call.
class SyncClient {
 public:
  explicit SyncClient(ClientOptions options);
  ~SyncClient();
  SyncClient(const SyncClient&) = delete;
  SyncClient& operator=(const SyncClient&) = delete;

  Result<MutateReply> mutate_row(std::string_view table, const Mutation& m,
                                 const CallOptions& o = {});
  Result<EntryResults> mutate_rows(std::string_view table, const std::vector<Mutation>& entries,
                                   const CallOptions& o = {});
  Result<std::optional<Row>> read_row(std::string_view table, const ReadRow& read,
                                      const CallOptions& o = {});
  Result<DropReply> drop_row_range(std::string_view table, const DropRows& drop,
                                   const CallOptions& o = {});
  Result<CheckAndMutateReply> check_and_mutate(std::string_view table, const CheckAndMutate& check,
                                               const CallOptions& o = {});
  Result<Row> read_modify_write(std::string_view table, const ReadModifyWrite& modify,
                                const CallOptions& o = {});
  Result<std::vector<SplitPoint>> sample_row_keys(std::string_view table);

  // Get its blocks with next().
  ReadStream read_rows(std::string_view table, const ReadRows& read, const CallOptions& o = {});
  ReadStream read_index(std::string_view table, const ReadIndex& read, const CallOptions& o = {});
  // The next block, or an empty one at the end.
  Result<CellBlock> next(ReadStream& stream);

  // A writer on client(). Batches are sent only during calls of this class.
  Result<void> add(BatchWriter& writer, Mutation m);  // waits for room
  Result<void> flush(BatchWriter& writer);
  Result<void> close(BatchWriter& writer);

  Result<TableDescription> create_table(const TableSpec& spec);
  Result<TableDescription> alter_table(const TableChange& change);
  Result<void> drop_table(std::string_view name);
  Result<TableDescription> restore_table(std::string_view name);
  Result<std::vector<TableSummary>> list_tables(const ListTables& list = {});
  Result<TableDescription> describe_table(std::string_view name);
  Result<RuleHistory> rule_history(std::string_view table, std::string_view family);
  Result<TableDescription> undo_rule(const UndoRule& undo);
  Result<PreviewReply> preview_rule(
      const PreviewRule& preview, const std::function<void(const PreviewProgress&)>& progress = {},
      const CallOptions& o = {});
  Result<TableDescription> create_index(std::string_view table, const IndexSpec& index);
  Result<TableDescription> alter_index(const AlterIndex& change);
  Result<TableDescription> drop_index(std::string_view table, std::string_view name);
  Result<std::vector<IndexDescription>> describe_indexes(std::string_view table);
  Result<IndexCheck> check_index(const CheckIndex& check,
                                 const std::function<void(const IndexCheck&)>& progress = {},
                                 const CallOptions& o = {});
  Result<AuditPage> audit_log(const AuditLog& log);
  Result<void> flush_table(std::string_view name);
  Result<void> compact_table(std::string_view name);
  Result<std::vector<TabletDescription>> split_tablet(const SplitTablet& split);
  Result<std::vector<TabletDescription>> merge_tablets(std::string_view table, uint64_t left,
                                                       uint64_t right);
  Result<std::vector<TabletDescription>> move_tablet(std::string_view table, uint64_t tablet_id,
                                                     uint32_t shard);
  Result<TabletPage> list_tablets(const ListTablets& list);
  Result<ClockReport> clock();
  Result<ClockReport> confirm_time(int64_t max_held_us);
  Result<BackupStatus> backup(const BackupCommand& command);
  Result<ControlStatus> control(ControlAction action);
  Result<ReclaimReport> reclaim_report(const ReclaimQuestion& question);
  Result<ServerInfo> server_info();
  Result<Pong> ping();

  // Serves the connections for this long; for polling.
  void sleep_us(int64_t us);

  // For several requests in flight: start them on client(), then run turns of loop().
  Client& client() { return *client_; }
  ShardLoop& loop() { return loop_; }

 private:
  std::unique_ptr<TcpNetwork> network_;  // outlives coroutines suspended on the loop
  ShardLoop loop_;
  std::unique_ptr<Client> client_;
};

}  // namespace cellar::client
