#include "net/server/access/access.h"

#include "net/wire/op.h"

namespace cellar::server {
namespace {

using security::Need;
using security::Role;
using security::Roles;
using wire::Frame;

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

Held held_on(const engine::TableMap& tables, const security::Principal& who, const OpSpec& spec,
             const wire::FrameHeader& header, const TableName& named) {
  // A handle that is bound by name is judged by name, whether or not the table exists.
  if (spec.table.by_id && !header.table_name.empty()) return held_by_name(who, header.table_name);
  const uint64_t id = spec.table.by_id ? header.table_id : 0;
  if (id != 0) {
    const auto* entry = tables.find(TableId{id});
    return {entry ? who.roles_on(entry->schema.name) : who.roles_everywhere(),
            fmt::format("table {}", id)};
  }
  if (named.name.empty() && named.tablet != 0) {
    const auto* entry = owner_of(tables, named.tablet);
    return {entry ? who.roles_on(entry->schema.name) : who.roles_everywhere(),
            fmt::format("the table of tablet {}", named.tablet)};
  }
  return held_by_name(who, named.name);
}

// A list of all tables is filtered; a request for one named table is checked against that table.
bool lists_all(const OpSpec& spec, bool names_table) {
  return spec.scope == Scope::list && (!names_table || spec.table.in_body == nullptr);
}

}  // namespace

TableName name_in(const OpSpec& spec, Bytes body) {
  return spec.table.in_body == nullptr ? TableName() : spec.table.in_body(body);
}

Need need_of(const OpSpec& spec, Bytes body) {
  return spec.need_of == nullptr ? spec.need : spec.need_of(body);
}

bool is_shown(const security::Principal* who, const OpSpec& spec, Bytes table) {
  return who == nullptr || spec.need.met_by(who->roles_on(table));
}

std::string name_of(uint16_t op) {
  const std::string_view name = wire::op_name(op);
  return name.empty() ? fmt::format("operation {}", op) : std::string(name);
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

void log_change(const OpSpec& spec, const engine::TableMap& tables, Session& session,
                const Frame& frame) {
  if (spec.logged == Logged::no || session.principal() == nullptr) return;
  if (spec.changes != nullptr && !spec.changes(frame.body)) return;
  const TableName named = name_in(spec, frame.body);
  if (!named.understood) return;
  security::AuditEvent event;
  event.event = "change";
  event.principal = session.principal()->name;
  event.address = session.peer();
  event.operation = name_of(spec.op);
  event.object = spec.scope == Scope::node
                     ? "node"
                     : held_on(tables, *session.principal(), spec, frame.header, named).shown;
  session.log_answer(frame.header, std::move(event));
}

Result<void> check_access_of(const OpSpec* spec, const engine::TableMap& tables,
                             const Session& session, const wire::FrameHeader& header) {
  if (spec != nullptr && spec->scope == Scope::open) return {};
  const security::Principal* who = session.principal();
  if (who == nullptr) {
    return fail(Errc::unauthenticated, "nobody has logged in on this connection");
  }
  const std::string name = name_of(header.op);
  if (spec == nullptr) return security::allow_node(*who, name, {{Role::admin}});
  // If the roles depend on the body, any one of them is enough here.
  const Need need{spec->need.roles, true};
  if (spec->scope == Scope::node) return security::allow_node(*who, name, need);
  if (spec->table.by_id && !header.table_name.empty()) {
    const Held held = held_by_name(*who, header.table_name);
    return security::allow(*who, name, need, held.roles, held.shown);
  }
  if (header.table_id == 0 || !spec->table.by_id) {
    return security::allow(*who, name, need, who->roles_anywhere(), "any table");
  }
  const auto* entry = tables.find(TableId{header.table_id});
  const Roles held = entry ? who->roles_on(entry->schema.name) : who->roles_everywhere();
  return security::allow(*who, name, need, held, fmt::format("table {}", header.table_id));
}

Result<void> check_access(const OpSpec* spec, const engine::TableMap& tables, Session& session,
                          const Frame& frame) {
  if (spec != nullptr && spec->scope == Scope::open) return {};
  const security::Principal* who = session.principal();
  if (who == nullptr) {
    return fail(Errc::unauthenticated, "nobody has logged in on this connection");
  }
  // An operation that does not exist counts as one on the node.
  if (spec == nullptr) {
    return security::allow_node(*who, name_of(frame.header.op), {{Role::admin}});
  }
  if (spec->scope == Scope::node) {
    return security::allow_node(*who, name_of(spec->op), need_of(*spec, frame.body));
  }
  // Most requests of a connection name the same table by id.
  const bool simple = frame.header.table_id != 0 && spec->table.by_id;
  if (simple && session.remembers(frame.header.table_id, tables.version)) {
    if (spec->need.met_by(session.remembered_roles())) return {};
  }
  const TableName named = name_in(*spec, frame.body);
  if (!named.understood) return {};
  const std::string name = name_of(spec->op);
  const bool by_handle = frame.header.table_id != 0 || !frame.header.table_name.empty();
  if (lists_all(*spec, by_handle || !named.name.empty())) {
    return security::allow(*who, name, spec->need, who->roles_anywhere(), "any table");
  }
  const Held held = held_on(tables, *who, *spec, frame.header, named);
  if (simple) session.remember(frame.header.table_id, tables.version, held.roles);
  return security::allow(*who, name, need_of(*spec, frame.body), held.roles, held.shown);
}

Result<void> check_access(const security::Principal& who, const OpSpec& spec, Bytes table,
                          std::optional<Need> need) {
  if (spec.scope == Scope::open) return {};
  const std::string name = name_of(spec.op);
  const Need wanted = need.value_or(spec.need);
  if (spec.scope == Scope::node) return security::allow_node(who, name, wanted);
  if (lists_all(spec, !table.empty())) {
    return security::allow(who, name, wanted, who.roles_anywhere(), "any table");
  }
  const Held held = held_by_name(who, table);
  return security::allow(who, name, wanted, held.roles, held.shown);
}

}  // namespace cellar::server
