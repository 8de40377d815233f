#include "net/server/requests/op_table.h"

#include <type_traits>

#include "net/server/access/alter_need.h"
#include "net/server/requests/dispatch.h"
#include "net/server/shard/shard_server.h"
#include "net/wire/point_codec.h"

namespace cellar::server {
namespace {

using security::Need;
using security::Role;
using security::Roles;
using wire::fb::Op;
using wire::fb::OperateOp;
namespace fb = wire::fb;

constexpr Need kRead{{Role::read}};
constexpr Need kWrite{{Role::write}};
// For operations that reveal existing data and change it.
constexpr Need kReadWrite{{Role::read, Role::write}};
// For previews, whose samples contain row keys.
constexpr Need kReadRetention{{Role::read, Role::retention}};
// For the check of an index; who may not read gets no rows.
constexpr Need kReadOrMonitor{{Role::read, Role::monitor, Role::admin}, true};
constexpr Need kSchema{{Role::schema}};
// For what only reports: figures, states of jobs, trails.
constexpr Need kMonitor{{Role::monitor, Role::admin}, true};
// For the node too: a backup contains whole tables and is written where the node may write, and
// releasing held time lets cells of every table expire.
constexpr Need kAdmin{{Role::admin}};
// Any role on a table permits reading its schema.
constexpr Need kAny{Roles::all(), true};

// ---- the table that a request names ----

template <class Request>
TableName by_name(Bytes body) {
  const auto* request = wire::verified<Request>(body);
  if (request == nullptr) return {.understood = false};
  return {.name = wire::text(request->name())};
}

template <class Request>
TableName by_table(Bytes body) {
  const auto* request = wire::verified<Request>(body);
  if (request == nullptr) return {.understood = false};
  return {.name = wire::text(request->table())};
}

template <class Request>
TableName by_table_if_any(Bytes body) {
  return body.empty() ? TableName() : by_table<Request>(body);
}

template <auto kTablet>
TableName by_tablet(Bytes body) {
  return []<class Request>(Bytes bytes, uint64_t (Request::*tablet)() const) -> TableName {
    const auto* request = wire::verified<Request>(bytes);
    if (request == nullptr) return {.understood = false};
    return {.name = wire::text(request->table()), .tablet = (request->*tablet)()};
  }(body, kTablet);
}

// The id in the header counts before the name. A table of another node is refused.
template <class Request>
constexpr TableRef kRows{by_table<Request>, true, true};
// By the handle alone.
constexpr TableRef kByHandle{nullptr, true, true};
// By name only, whatever the header contains. A table of another node is refused.
template <class Request>
constexpr TableRef kTable{by_name<Request>, false, true};
// Tablets have the ids of their node. A table of another node is refused if the request names it.
template <auto kTablet>
constexpr TableRef kTablets{by_tablet<kTablet>, true, true};

// ---- requests that change something, of operations that also only report ----

bool releases_time(Bytes body) {
  const auto* confirm = wire::verified<fb::ConfirmTimeRequest>(body);
  return confirm != nullptr && confirm->release();
}

bool commands_node(Bytes body) {
  const auto* control = wire::verified<fb::ControlRequest>(body);
  return control != nullptr && control->action() != fb::ControlAction::Status;
}

bool begins_job(Bytes body) {
  const auto* backup = wire::verified<fb::BackupRequest>(body);
  return backup != nullptr && backup->action() != fb::BackupAction::Status &&
         backup->action() != fb::BackupAction::List;
}

// A malformed body changes nothing: its handler refuses it.
template <bool (*kChanges)(Bytes body)>
Need admin_if(Bytes body) {
  return kChanges(body) ? kAdmin : kMonitor;
}

// ---- handlers that take parts of the shard instead of all of it ----

template <auto kHandler>
Handled on(ShardServer& shard, Session& session, const wire::Frame& frame) {
  if constexpr (std::is_invocable_v<decltype(kHandler), LocalShard&, Session&,
                                    const wire::Frame&>) {
    return kHandler(shard, session, frame);
  } else if constexpr (std::is_invocable_v<decltype(kHandler), LocalShard&, NodeShared&, Session&,
                                           const wire::Frame&>) {
    return kHandler(shard, shard.shared(), session, frame);
  } else {
    return kHandler(shard, shard.shared(), shard.security(), session, frame);
  }
}

constexpr OpSpec timed(OpSpec spec) {
  spec.needs_time = true;
  return spec;
}

constexpr OpSpec of_row(Bytes (*row_of)(Bytes body), bool writes_row, OpSpec spec) {
  spec.row_of = row_of;
  spec.writes_row = writes_row;
  return spec;
}

// The members of OpSpec in their order. An operation of the schema without a case does not compile.
// clang-format off
constexpr OpSpec tablet_entry_of(Op op) {
  switch (op) {
    case Op::SplitTablet:
      return {on<handle_split_tablet>, Scope::table, kAdmin, Logged::admin,
              kTablets<&fb::SplitTabletRequest::tablet_id>, "tablets"};
    case Op::MergeTablets:
      return {on<handle_merge_tablets>, Scope::table, kAdmin, Logged::admin,
              kTablets<&fb::MergeTabletsRequest::left>, "tablets"};
    case Op::MoveTablet:
      return {on<handle_move_tablet>, Scope::table, kAdmin, Logged::admin,
              kTablets<&fb::MoveTabletRequest::tablet_id>, "tablets"};
    case Op::ListTablets:
      return {on<handle_list_tablets>, Scope::list, kMonitor, Logged::no,
              {by_table_if_any<fb::ListTabletsRequest>, true, true}, "tablets"};
    default:
      return {};
  }
}

constexpr OpSpec index_entry_of(Op op) {
  switch (op) {
    case Op::ReadIndex:
      return timed({handle_read_index, Scope::table, kRead, Logged::no,
                    kRows<fb::ReadIndexRequest>, "indexes"});
    case Op::CreateIndex:
      return {on<handle_create_index>, Scope::table, kSchema, Logged::schema,
              {by_table<fb::CreateIndexRequest>, false, true}, "indexes"};
    case Op::AlterIndex:
      return {on<handle_alter_index>, Scope::table, kAlterTable, Logged::schema,
              {by_table<fb::AlterIndexRequest>, false, true}, "indexes", alter_index_need_of};
    case Op::DropIndex:
      return {on<handle_drop_index>, Scope::table, kSchema, Logged::schema,
              {by_table<fb::DropIndexRequest>, false, true}, "indexes"};
    case Op::DescribeIndexes:
      return {on<handle_describe_indexes>, Scope::table, kAny, Logged::no,
              {by_table<fb::DescribeIndexesRequest>, false, true}, "indexes"};
    case Op::CheckIndex:
      return {on<handle_check_index>, Scope::table, kReadOrMonitor, Logged::no,
              {by_table<fb::CheckIndexRequest>, false, true}, "indexes"};
    default:
      return {};
  }
}

constexpr OpSpec entry_of(Op op) {
  switch (op) {
    case Op::None:
      return {};
    case Op::Hello:
      return {on<handle_hello>, Scope::open, {}};
    case Op::Ping:
      return {on<handle_ping>, Scope::open, {}};
    case Op::ServerInfo:
      return {on<handle_server_info>, Scope::node, kMonitor};
    case Op::MutateRow:
      return timed({handle_mutate_row, Scope::table, kWrite, Logged::no,
                    kRows<fb::MutateRowRequest>});
    case Op::MutateRows:
      return timed({handle_mutate_rows, Scope::table, kWrite, Logged::no,
                    kRows<fb::MutateRowsRequest>});
    case Op::ReadRow:
      return timed({handle_read_row, Scope::table, kRead, Logged::no, kRows<fb::ReadRowRequest>});
    case Op::ReadRows:
      return timed({handle_read_rows, Scope::table, kRead, Logged::no, kRows<fb::ReadRowsRequest>});
    case Op::CheckAndMutateRow:
      return timed({handle_check_and_mutate_row, Scope::table, kReadWrite, Logged::no,
                    kRows<fb::CheckAndMutateRowRequest>});
    case Op::ReadModifyWriteRow:
      return timed({handle_read_modify_write_row, Scope::table, kReadWrite, Logged::no,
                    kRows<fb::ReadModifyWriteRowRequest>});
    case Op::DropRowRange:
      return timed({handle_drop_row_range, Scope::table, kWrite, Logged::no,
                    kRows<fb::DropRowRangeRequest>, "drop_row_range"});
    case Op::SampleRowKeys:
      return {on<handle_sample_row_keys>, Scope::table, kRead, Logged::no,
              kRows<fb::SampleRowKeysRequest>, "sample_row_keys"};
    case Op::Get:
      return of_row(wire::row_of_get, false,
                    timed({handle_get, Scope::table, kRead, Logged::no, kByHandle}));
    case Op::Put:
      return of_row(wire::row_of_put, true,
                    timed({handle_put, Scope::table, kWrite, Logged::no, kByHandle}));
    case Op::CreateTable:
      return {on<handle_create_table>, Scope::table, kSchema, Logged::schema,
              kTable<fb::CreateTableRequest>};
    case Op::AlterTable:
      return {on<handle_alter_table>, Scope::table, kAlterTable, Logged::schema,
              kTable<fb::AlterTableRequest>, "alter_table", alter_need_of};
    case Op::DropTable:
      return {on<handle_drop_table>, Scope::table, kSchema, Logged::schema,
              kTable<fb::DropTableRequest>};
    case Op::RestoreTable:
      return {on<handle_restore_table>, Scope::table, kSchema, Logged::schema,
              kTable<fb::RestoreTableRequest>, "restore_table"};
    case Op::ListTables:
      return {on<handle_list_tables>, Scope::list, kAny, Logged::no, {nullptr, true}};
    case Op::DescribeTable:
      return {on<handle_describe_table>, Scope::table, kAny, Logged::no,
              kTable<fb::DescribeTableRequest>};
    case Op::PreviewRule:
      return {on<handle_preview_rule>, Scope::table, kReadRetention, Logged::no,
              {by_table<fb::PreviewRuleRequest>, false, true}, "preview"};
    case Op::FlushTable:
      return {on<handle_flush_table>, Scope::table, kAdmin, Logged::admin,
              kTable<fb::FlushTableRequest>};
    case Op::CompactTable:
      return {on<handle_compact_table>, Scope::table, kAdmin, Logged::admin,
              kTable<fb::CompactTableRequest>};
    case Op::SplitTablet: case Op::MergeTablets: case Op::MoveTablet: case Op::ListTablets:
      return tablet_entry_of(op);
    case Op::RuleHistory:
      return {on<handle_rule_history>, Scope::table, kAny, Logged::no,
              {by_table<fb::RuleHistoryRequest>, true, true}, "rule_history"};
    case Op::UndoRule:
      return {on<handle_undo_rule>, Scope::table, kAlterRetention, Logged::retention,
              {by_table<fb::UndoRuleRequest>, false, true}, "rule_history"};
    case Op::AuditLog:
      return {on<handle_audit_log>, Scope::table, kMonitor, Logged::no,
              {by_table_if_any<fb::AuditLogRequest>, false, true}, "audit_log"};
    case Op::ConfirmTime:
      return {on<handle_confirm_time>, Scope::node, kMonitor, Logged::admin,
              {}, "clock", admin_if<releases_time>, releases_time};
    case Op::ReadIndex: case Op::CreateIndex: case Op::AlterIndex: case Op::DropIndex:
    case Op::DescribeIndexes: case Op::CheckIndex:
      return index_entry_of(op);
  }
  return {};
}

constexpr OpSpec entry_of(OperateOp op) {
  switch (op) {
    case OperateOp::None:
      return {};
    case OperateOp::Backup:
      return {on<handle_backup>, Scope::node, kMonitor, Logged::admin,
              {}, "backups", admin_if<begins_job>, begins_job};
    case OperateOp::Control:
      return {on<handle_control>, Scope::node, kMonitor, Logged::admin,
              {}, "control", admin_if<commands_node>, commands_node};
    case OperateOp::Reclaim:
      return {on<handle_reclaim>, Scope::table, kMonitor, Logged::no,
              {by_table_if_any<fb::ReclaimRequest>, false, true}, "reclaim"};
  }
  return {};
}
// clang-format on

consteval std::array<OpSpec, wire::kOps> make_table() {
  std::array<OpSpec, wire::kOps> table;
  for (size_t op = 0; op < table.size(); ++op) {
    const OpSpec data = entry_of(static_cast<Op>(op));
    table[op] = data.handler != nullptr ? data : entry_of(static_cast<OperateOp>(op));
    table[op].op = static_cast<uint16_t>(op);
  }
  return table;
}

consteval bool share_a_number() {
  for (size_t op = 0; op < wire::kOps; ++op) {
    const bool data = entry_of(static_cast<Op>(op)).handler != nullptr;
    if (data && entry_of(static_cast<OperateOp>(op)).handler != nullptr) return true;
  }
  return false;
}
static_assert(!share_a_number(), "an operation of common.fbs has the number of one of operate.fbs");

}  // namespace

constinit const std::array<OpSpec, wire::kOps> kOpTable = make_table();

}  // namespace cellar::server
