#include "net/server/access/access.h"

#include <algorithm>
#include <span>

#include "io/base/check.h"
#include "net/server/shard/shard_server.h"
#include "net/wire/operate.h"

namespace cellar::server {
namespace {

using security::Need;
using security::Role;
using security::Roles;
using wire::Frame;
using wire::fb::Op;
namespace fb = wire::fb;

// How a request names its table.
struct Named {
  bool understood = true;  // false: malformed; the handler refuses it
  Bytes name = {};         // empty: no name
  uint64_t tablet = 0;     // set if only a tablet is named
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

// Operations that name their table in the body only, whatever the header contains.
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

// The roles held on the request's table, and the table as the request names it. For an unknown
// table id the roles held on all tables apply, so that the reply does not reveal whether it exists.
struct Held {
  Roles roles;
  std::string shown;
};

Held held_by_name(const security::Principal& who, Bytes table) {
  if (table.empty()) return {who.roles_everywhere(), "the whole node (prefix \"\")"};
  return {who.roles_on(table), fmt::format("table '{}'", escape_bytes(table))};
}

Held held_on(ShardServer& shard, const security::Principal& who, const Frame& frame, Op op,
             const Named& named) {
  const uint64_t id = ignores_table_id(op) ? 0 : frame.header.table_id;
  if (id != 0) {
    const auto* entry = shard.tables().find(TableId{id});
    return {entry ? who.roles_on(entry->schema.name) : who.roles_everywhere(),
            fmt::format("table {}", id)};
  }
  if (named.name.empty() && named.tablet != 0) {
    const auto* entry = owner_of(shard.tables(), named.tablet);
    return {entry ? who.roles_on(entry->schema.name) : who.roles_everywhere(),
            fmt::format("the table of tablet {}", named.tablet)};
  }
  return held_by_name(who, named.name);
}

// A list of all tables is filtered; a request for one named table is checked against that table.
bool lists_all(const Permission& permission, bool names_table) {
  return permission.scope == Scope::list && (!names_table || permission.op == Op::ListTables);
}

// The roles required to change each field. An unknown field, which a client with a later schema may
// send, requires all of them.
struct FieldRoles {
  flatbuffers::voffset_t field;
  Roles roles;
  bool vector = false;  // an empty one changes nothing
};
constexpr FieldRoles kAlterFields[] = {
    {fb::AlterTableRequest::VT_NAME, {}},
    {fb::AlterTableRequest::VT_ADD, permissions::kAlterSchema.roles, true},
    {fb::AlterTableRequest::VT_ALTER, permissions::kAlterRetention.roles, true},
    {fb::AlterTableRequest::VT_DROP, permissions::kAlterSchema.roles, true},
    {fb::AlterTableRequest::VT_OPTIONS, {}},  // depends on its contents
    {fb::AlterTableRequest::VT_CLOSE_OLDEST_UNDO_WINDOW, permissions::kAlterRetention.roles},
};
constexpr FieldRoles kOptionFields[] = {
    {fb::TableOptions::VT_DURABILITY, permissions::kAlterSchema.roles},
    {fb::TableOptions::VT_COMPRESSION, permissions::kAlterSchema.roles},
    {fb::TableOptions::VT_BLOCK_BYTES, permissions::kAlterSchema.roles},
    {fb::TableOptions::VT_RECLAIM_WITHIN_US, permissions::kAlterRetention.roles},
    {fb::TableOptions::VT_DEAD_SLACK, permissions::kAlterRetention.roles},
    {fb::TableOptions::VT_RECLAIM_SHARE, permissions::kAlterRetention.roles},
    {fb::TableOptions::VT_COMPACTION, permissions::kAlterSchema.roles},
    {fb::TableOptions::VT_BOTTOM_COMPRESSION, permissions::kAlterSchema.roles},
};

// Collects the roles for every set field from the FlatBuffer's vtable, without naming accessors.
Roles roles_of_fields(const flatbuffers::Table& table, std::span<const FieldRoles> known) {
  constexpr flatbuffers::voffset_t kFirstField = 4;  // after the sizes of vtable and table
  const auto end =
      flatbuffers::ReadScalar<flatbuffers::voffset_t>(table.GetVTable());  // its size in bytes
  Roles roles;
  for (flatbuffers::voffset_t field = kFirstField; field < end; field += 2) {
    if (table.GetOptionalFieldOffset(field) == 0) continue;
    const auto at = std::ranges::find(known, field, &FieldRoles::field);
    const bool is_known = at != known.end();
    using AnyVector = flatbuffers::Vector<uint8_t>;
    if (is_known && at->vector && table.GetPointer<const AnyVector*>(field)->size() == 0) continue;
    roles.add(is_known ? at->roles : permissions::kAlterTable.roles);
  }
  return roles;
}

}  // namespace

Need need_of(const Permission& permission, Bytes body) {
  if (permission.op != Op::AlterTable) return permission.need;
  const auto* alter = wire::verified<fb::AlterTableRequest>(body);
  if (alter == nullptr) return permission.need;
  const auto as_table = [](const auto* one) {
    return reinterpret_cast<const flatbuffers::Table*>(one);
  };
  Roles roles = roles_of_fields(*as_table(alter), kAlterFields);
  if (const auto* options = alter->options()) {
    roles.add(roles_of_fields(*as_table(options), kOptionFields));
  }
  return {roles.empty() ? permission.need.roles : roles};
}

bool is_shown(const security::Principal* who, Op op, Bytes table) {
  if (who == nullptr) return true;
  return permission_of(static_cast<uint16_t>(op))->need.met_by(who->roles_on(table));
}

bool is_shown(const Session& session, Op op, Bytes table) {
  return is_shown(session.principal(), op, table);
}

std::string name_of(uint16_t op) {
  if (op == wire::kBackupOp || op == wire::kControlOp || op == wire::kReclaimOp) {
    return fb::EnumNameOperateOp(static_cast<fb::OperateOp>(op));
  }
  if (permission_of(op) != nullptr) return fb::EnumNameOp(static_cast<Op>(op));
  return fmt::format("operation {}", op);
}

security::AuditEvent denial_event(const Session& session, const wire::FrameHeader& header,
                                  const Error& error) {
  security::AuditEvent event;
  event.event = "denied";
  if (session.principal() != nullptr) event.principal = session.principal()->name;
  event.address = session.peer();
  event.operation = name_of(header.op);
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
    if (confirm == nullptr || !confirm->release()) return;  // a query only
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

Result<void> check_access_of(ShardServer& shard, const Session& session,
                             const wire::FrameHeader& header) {
  const Permission* permission = permission_of(header.op);
  if (permission != nullptr && permission->scope == Scope::open) return {};
  const security::Principal* who = session.principal();
  if (who == nullptr) {
    return fail(Errc::unauthenticated, "nobody has logged in on this connection");
  }
  const std::string name = name_of(header.op);
  if (permission == nullptr || permission->scope == Scope::node) {
    return security::allow_node(*who, name, {{Role::admin}});
  }
  // The roles required for AlterTable depend on its body; any one of them is enough here.
  const Need need{permission->need.roles, true};
  if (header.table_id == 0 || ignores_table_id(static_cast<Op>(header.op))) {
    return security::allow(*who, name, need, who->roles_anywhere(), "any table");
  }
  const auto* entry = shard.tables().find(TableId{header.table_id});
  const Roles held = entry ? who->roles_on(entry->schema.name) : who->roles_everywhere();
  return security::allow(*who, name, need, held, fmt::format("table {}", header.table_id));
}

Result<void> check_access(ShardServer& shard, Session& session, const Frame& frame) {
  const Permission* permission = permission_of(frame.header.op);
  const auto op = static_cast<Op>(frame.header.op);
  if (permission != nullptr && permission->scope == Scope::open) return {};
  const security::Principal* who = session.principal();
  if (who == nullptr) {
    return fail(Errc::unauthenticated, "nobody has logged in on this connection");
  }
  // An operation without an entry counts as one on the node.
  const std::string name = name_of(frame.header.op);
  if (permission == nullptr || permission->scope == Scope::node) {
    return security::allow_node(*who, name, {{Role::admin}});
  }
  // Most requests of a connection name the same table by id.
  const bool simple = frame.header.table_id != 0 && !ignores_table_id(op);
  if (simple && session.remembers(frame.header.table_id, shard.tables().version)) {
    if (permission->need.met_by(session.remembered_roles())) return {};
  }
  const Named named = named_in(op, frame.body);
  if (!named.understood) return {};
  if (lists_all(*permission, frame.header.table_id != 0 || !named.name.empty())) {
    return security::allow(*who, name, permission->need, who->roles_anywhere(), "any table");
  }
  const Held held = held_on(shard, *who, frame, op, named);
  if (simple) session.remember(frame.header.table_id, shard.tables().version, held.roles);
  return security::allow(*who, name, need_of(*permission, frame.body), held.roles, held.shown);
}

Result<void> check_access(const security::Principal& who, uint16_t op, Bytes table,
                          std::optional<Need> need) {
  const Permission* permission = permission_of(op);
  CHECK(permission != nullptr, "operation {} has no permission", op);
  if (permission->scope == Scope::open) return {};
  const std::string name = name_of(op);
  const Need wanted = need.value_or(permission->need);
  if (permission->scope == Scope::node) return security::allow_node(who, name, wanted);
  if (lists_all(*permission, !table.empty())) {
    return security::allow(who, name, wanted, who.roles_anywhere(), "any table");
  }
  const Held held = held_by_name(who, table);
  return security::allow(who, name, wanted, held.roles, held.shown);
}

}  // namespace cellar::server
