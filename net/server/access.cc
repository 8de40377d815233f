#include "net/server/access.h"

#include "net/server/dispatch.h"
#include "net/server/shard_server.h"
#include "net/wire/operate.h"

namespace cellar::server {
namespace {

using security::Need;
using security::Role;
using security::Roles;
using wire::Frame;
using wire::fb::Op;
namespace fb = wire::fb;

// What a request calls its table.
struct Named {
  bool understood = true;  // false: its handler refuses it
  Bytes name = {};         // empty: it names none
  uint64_t tablet = 0;     // where it names a tablet alone
};

template <class Root>
Named by_name(Bytes body) {
  const auto* root = wire::verified<Root>(body);
  if (root == nullptr) return {.understood = false};
  return {.name = wire::text(root->name())};
}

template <class Root>
Named by_table(Bytes body) {
  const auto* root = wire::verified<Root>(body);
  if (root == nullptr) return {.understood = false};
  return {.name = wire::text(root->table())};
}

template <class Root>
Named by_tablet(Bytes body, uint64_t (Root::*tablet)() const) {
  const auto* root = wire::verified<Root>(body);
  if (root == nullptr) return {.understood = false};
  return {.name = wire::text(root->table()), .tablet = (root->*tablet)()};
}

constexpr Op kReclaim{wire::kReclaimOp};

Named named_in(Op op, Bytes body) {
  if (op == kReclaim) return body.empty() ? Named{} : by_table<fb::ReclaimRequest>(body);
  switch (op) {
    case Op::MutateRow:
      return by_table<fb::MutateRowRequest>(body);
    case Op::MutateRows:
      return by_table<fb::MutateRowsRequest>(body);
    case Op::ReadRow:
      return by_table<fb::ReadRowRequest>(body);
    case Op::ReadRows:
      return by_table<fb::ReadRowsRequest>(body);
    case Op::CheckAndMutateRow:
      return by_table<fb::CheckAndMutateRowRequest>(body);
    case Op::ReadModifyWriteRow:
      return by_table<fb::ReadModifyWriteRowRequest>(body);
    case Op::DropRowRange:
      return by_table<fb::DropRowRangeRequest>(body);
    case Op::SampleRowKeys:
      return by_table<fb::SampleRowKeysRequest>(body);
    case Op::CreateTable:
      return by_name<fb::CreateTableRequest>(body);
    case Op::AlterTable:
      return by_name<fb::AlterTableRequest>(body);
    case Op::DropTable:
      return by_name<fb::DropTableRequest>(body);
    case Op::RestoreTable:
      return by_name<fb::RestoreTableRequest>(body);
    case Op::DescribeTable:
      return by_name<fb::DescribeTableRequest>(body);
    case Op::FlushTable:
      return by_name<fb::FlushTableRequest>(body);
    case Op::CompactTable:
      return by_name<fb::CompactTableRequest>(body);
    case Op::PreviewRule:
      return by_table<fb::PreviewRuleRequest>(body);
    case Op::RuleHistory:
      return by_table<fb::RuleHistoryRequest>(body);
    case Op::UndoRule:
      return by_table<fb::UndoRuleRequest>(body);
    case Op::AuditLog:
      return body.empty() ? Named{} : by_table<fb::AuditLogRequest>(body);
    case Op::ListTablets:
      return body.empty() ? Named{} : by_table<fb::ListTabletsRequest>(body);
    case Op::SplitTablet:
      return by_tablet(body, &fb::SplitTabletRequest::tablet_id);
    case Op::MergeTablets:
      return by_tablet(body, &fb::MergeTabletsRequest::left);
    case Op::MoveTablet:
      return by_tablet(body, &fb::MoveTabletRequest::tablet_id);
    default:
      return {};
  }
}

// These take their table by name alone, whatever the header says.
bool ignores_table_id(Op op) {
  if (op == kReclaim) return true;
  switch (op) {
    case Op::CreateTable:
    case Op::AlterTable:
    case Op::DropTable:
    case Op::RestoreTable:
    case Op::DescribeTable:
    case Op::FlushTable:
    case Op::CompactTable:
    case Op::PreviewRule:
    case Op::UndoRule:
    case Op::AuditLog:
      return true;
    default:
      return false;
  }
}

const engine::TableEntry* owner_of(const engine::TableMap& tables, uint64_t tablet) {
  for (const auto& [name, entry] : tables.tables()) {
    for (const auto& one : entry->tablets) {
      if (one.id.value() == tablet) return entry.get();
    }
  }
  return nullptr;
}

// The roles held on the table of the request, and what the request called it. Of a table that is
// not there by its number, those on every table: whoever may not know learns nothing.
struct Held {
  Roles roles;
  std::string shown;
};

Held held_on(ShardServer& shard, const security::Principal& who, const Frame& frame, Op op,
             const Named& named) {
  const uint64_t id = ignores_table_id(op) ? 0 : frame.header.table_id;
  if (id != 0) {
    const auto* entry = shard.tables().find(TableId{id});
    return {entry ? who.roles_on(entry->schema.name) : who.roles_everywhere(),
            fmt::format("table {}", id)};
  }
  if (!named.name.empty()) {
    return {who.roles_on(named.name), fmt::format("table '{}'", escape_bytes(named.name))};
  }
  if (named.tablet != 0) {
    const auto* entry = owner_of(shard.tables(), named.tablet);
    return {entry ? who.roles_on(entry->schema.name) : who.roles_everywhere(),
            fmt::format("the table of tablet {}", named.tablet)};
  }
  return {who.roles_everywhere(), "the whole node (prefix \"\")"};
}

bool touches_schema(const fb::AlterTableRequest& alter) {
  const auto* options = alter.options();
  const bool storage = options != nullptr &&
                       (options->durability() || options->compression() || options->block_bytes() ||
                        options->compaction() || options->bottom_compression());
  const bool families = (alter.add() != nullptr && alter.add()->size() > 0) ||
                        (alter.drop() != nullptr && alter.drop()->size() > 0);
  return storage || families;
}

bool touches_retention(const fb::AlterTableRequest& alter) {
  const auto* options = alter.options();
  const bool reclaim = options != nullptr && (options->reclaim_within_us() ||
                                              options->dead_slack() || options->reclaim_share());
  const bool families = alter.alter() != nullptr && alter.alter()->size() > 0;
  return reclaim || families || alter.close_oldest_undo_window();
}

}  // namespace

Need need_of(const Permission& permission, Bytes body) {
  if (permission.op != Op::AlterTable) return permission.need;
  const auto* alter = wire::verified<fb::AlterTableRequest>(body);
  if (alter == nullptr) return permission.need;
  Roles roles;
  if (touches_schema(*alter)) roles.add(Role::schema);
  if (touches_retention(*alter)) roles.add(Role::retention);
  return {roles.empty() ? permission.need.roles : roles};
}

bool is_shown(const Session& session, Op op, Bytes table) {
  const security::Principal* who = session.principal();
  if (who == nullptr) return true;
  return permission_of(static_cast<uint16_t>(op))->need.met_by(who->roles_on(table));
}

std::string name_of(uint16_t op) {
  if (op == wire::kBackupOp || op == wire::kControlOp || op == wire::kReclaimOp) {
    return fb::EnumNameOperateOp(static_cast<fb::OperateOp>(op));
  }
  if (permission_of(op) != nullptr) return fb::EnumNameOp(static_cast<Op>(op));
  return fmt::format("operation {}", op);
}

security::AuditEvent denial_event(const Session& session, const Frame& frame, const Error& error) {
  security::AuditEvent event;
  event.event = "denied";
  if (session.principal() != nullptr) event.principal = session.principal()->name;
  event.address = session.peer();
  event.operation = name_of(frame.header.op);
  event.outcome = errc_name(error.code);
  event.detail = error.message;
  return event;
}

void log_change(ShardServer& shard, Session& session, const Frame& frame) {
  const Permission* permission = permission_of(frame.header.op);
  if (permission == nullptr || permission->logged == Logged::no) return;
  const auto op = static_cast<Op>(frame.header.op);
  if (op == Op::ConfirmTime) {
    const auto* confirm = wire::verified<fb::ConfirmTimeRequest>(frame.body);
    if (confirm == nullptr || !confirm->release()) return;  // only asks
  }
  if (frame.header.op == wire::kControlOp) {
    const auto* control = wire::verified<fb::ControlRequest>(frame.body);
    if (control == nullptr || control->action() == fb::ControlAction::Status) return;
  }
  const Named named = named_in(op, frame.body);
  if (!named.understood || session.principal() == nullptr) return;
  security::AuditEvent event;
  event.event = "change";
  event.principal = session.principal()->name;
  event.address = session.peer();
  event.operation = name_of(frame.header.op);
  event.object = permission->scope == Scope::node
                     ? "node"
                     : held_on(shard, *session.principal(), frame, op, named).shown;
  session.log_answer(frame.header, std::move(event));
}

Result<void> check_access(ShardServer& shard, Session& session, const Frame& frame) {
  const Permission* permission = permission_of(frame.header.op);
  const auto op = static_cast<Op>(frame.header.op);
  if (permission != nullptr && permission->scope == Scope::open) return {};
  const security::Principal* who = session.principal();
  if (who == nullptr) {
    return fail(Errc::unauthenticated, "nobody has logged in on this connection");
  }
  // What is not in the table is the node's, whatever it is.
  const std::string name = name_of(frame.header.op);
  if (permission == nullptr || permission->scope == Scope::node) {
    return security::allow_node(*who, name, {{Role::admin}});
  }
  // Most requests of a connection are for one table, by its number.
  const bool simple = frame.header.table_id != 0 && !ignores_table_id(op);
  if (simple && session.remembers(frame.header.table_id, shard.tables().version)) {
    if (permission->need.met_by(session.remembered_roles())) return {};
  }
  const Named named = named_in(op, frame.body);
  if (!named.understood) return {};
  // A list of all shows what may be seen; one of a named table is asked about that one.
  const bool all = frame.header.table_id == 0 && named.name.empty();
  if (permission->scope == Scope::list && (all || op == Op::ListTables)) {
    return security::allow(*who, name, permission->need, who->roles_anywhere(), "any table");
  }
  const Held held = held_on(shard, *who, frame, op, named);
  if (simple) session.remember(frame.header.table_id, shard.tables().version, held.roles);
  return security::allow(*who, name, need_of(*permission, frame.body), held.roles, held.shown);
}

}  // namespace cellar::server
