#include "net/server/requests/dispatch.h"

#include <array>

#include "net/server/access/access.h"
#include "net/server/requests/named_table.h"
#include "net/server/shard/extra_ops.h"
#include "net/server/shard/shard_server.h"
#include "net/wire/operate.h"

namespace cellar::server {
namespace {

using wire::fb::Op;
using Handler = void (*)(ShardServer&, Session&, const wire::Frame&);

constexpr size_t kOps = static_cast<size_t>(Op::MAX) + 1;

constexpr std::array<Handler, kOps> make_handlers() {
  std::array<Handler, kOps> table{};
  const auto set = [&](Op op, Handler handler) { table[static_cast<size_t>(op)] = handler; };
  set(Op::Hello, handle_hello);
  set(Op::Ping, handle_ping);
  set(Op::ServerInfo, handle_server_info);
  set(Op::MutateRow, handle_mutate_row);
  set(Op::MutateRows, handle_mutate_rows);
  set(Op::ReadRow, handle_read_row);
  set(Op::ReadRows, handle_read_rows);
  set(Op::CheckAndMutateRow, handle_check_and_mutate_row);
  set(Op::ReadModifyWriteRow, handle_read_modify_write_row);
  set(Op::DropRowRange, handle_drop_row_range);
  set(Op::SampleRowKeys, handle_sample_row_keys);
  set(Op::CreateTable, handle_create_table);
  set(Op::AlterTable, handle_alter_table);
  set(Op::DropTable, handle_drop_table);
  set(Op::RestoreTable, handle_restore_table);
  set(Op::ListTables, handle_list_tables);
  set(Op::DescribeTable, handle_describe_table);
  set(Op::PreviewRule, handle_preview_rule);
  set(Op::FlushTable, handle_flush_table);
  set(Op::CompactTable, handle_compact_table);
  set(Op::SplitTablet, handle_split_tablet);
  set(Op::MergeTablets, handle_merge_tablets);
  set(Op::MoveTablet, handle_move_tablet);
  set(Op::ListTablets, handle_list_tablets);
  set(Op::ConfirmTime, handle_confirm_time);
  set(Op::RuleHistory, handle_rule_history);
  set(Op::UndoRule, handle_undo_rule);
  set(Op::AuditLog, handle_audit_log);
  return table;
}
constexpr std::array<Handler, kOps> kHandlers = make_handlers();

void count_denial(ShardServer& shard, Session& session, const wire::FrameHeader& header,
                  const Error& error) {
  ++shard.security_counters().denials;
  shard.audit_flood(denial_event(session, header, error));
}

// Checks the node's principals and answers a refused request.
bool is_allowed(ShardServer& shard, Session& session, const wire::Frame& frame) {
  if (shard.policy().principals == nullptr) return true;
  const Result<void> allowed = check_access(shard, session, frame);
  if (allowed) return true;
  count_denial(shard, session, frame.header, allowed.error());
  session.reply_error(frame.header, allowed.error());
  return false;
}

// Refuses a request for a table of another node, with that node's address and without effect.
bool refuse_of_others(ShardServer& shard, Session& session, const wire::Frame& frame) {
  const std::string_view table = named_table(frame);
  const ServerOptions& options = shard.options();
  const std::string* owner = table.empty() ? nullptr : options.owners.find(table);
  if (owner == nullptr || *owner == options.advertise) return false;
  Error error(Errc::aborted,
              fmt::format("table '{}' is on another node, {}", escape_bytes(table), *owner));
  wire::TabletHint hint;
  hint.owner = *owner;
  session.reply_error(frame.header, std::move(error).retry_after(0), &hint);
  return true;
}

Result<void> check_header(ShardServer& shard, Session& session, const wire::FrameHeader& header) {
  if (shard.policy().principals == nullptr) return {};
  Result<void> allowed = check_access_of(shard, session, header);
  if (!allowed) count_denial(shard, session, header, allowed.error());
  return allowed;
}

void handle_frame(ShardServer& shard, Session& session, const wire::Frame& frame) {
  const uint16_t op = frame.header.op;
  const bool before_hello =
      op == static_cast<uint16_t>(Op::Hello) || op == static_cast<uint16_t>(Op::Ping);
  if (!session.greeted() && !before_hello) {
    return session.reply_error(frame.header,
                               Error(Errc::failed_precondition, "the first request is a hello"));
  }
  if (!is_allowed(shard, session, frame)) return;
  if (op >= kFirstExtraOp && shard.extra() != nullptr) return handle_extra(shard, session, frame);
  const bool asked = shard.policy().principals != nullptr;
  if (op == wire::kBackupOp) {
    if (asked) log_change(shard, session, frame);
    return handle_backup(shard, session, frame);
  }
  if (op == wire::kControlOp) {
    if (asked) log_change(shard, session, frame);
    return handle_control(shard, session, frame);
  }
  if (op == wire::kReclaimOp) return handle_reclaim(shard, session, frame);
  if (op >= kOps || kHandlers[op] == nullptr) {
    return session.reply_error(
        frame.header, Error(Errc::unimplemented, fmt::format("operation {} does not exist", op)));
  }
  if (!shard.options().owners.empty() && refuse_of_others(shard, session, frame)) return;
  if (asked) log_change(shard, session, frame);
  kHandlers[op](shard, session, frame);
}

class Dispatcher final : public RequestHandler {
 public:
  void handle(ShardServer& shard, Session& session, const wire::Frame& frame) const override {
    handle_frame(shard, session, frame);
  }
  Result<void> check_announced(ShardServer& shard, Session& session,
                               const wire::FrameHeader& header) const override {
    return check_header(shard, session, header);
  }
};

}  // namespace

const RequestHandler& request_handler() {
  static const Dispatcher kDispatcher;
  return kDispatcher;
}

}  // namespace cellar::server
