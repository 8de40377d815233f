// Access: permission checks. Every request passes them in one place before its handler. Without
// principals everything is allowed.
//
// The table comes from the request: from the id in the header or the name in the body, which is
// verified for that. A request that fails verification is passed to its handler, which refuses it
// without effect.
#pragma once

#include "engine/catalog/table_map.h"
#include "net/server/access/op_spec.h"
#include "net/server/shard/session.h"
#include "net/wire/frame.h"

namespace cellar::server {

// UNAUTHENTICATED or PERMISSION_DENIED, whether or not the table exists. `spec`: null for an
// operation that does not exist.
Result<void> check_access(const OpSpec* spec, const engine::TableMap& tables, Session& session,
                          const wire::Frame& frame);
// The check for a request of which only the header has arrived: refuses a principal that holds none
// of the roles that any body could require.
Result<void> check_access_of(const OpSpec* spec, const engine::TableMap& tables,
                             const Session& session, const wire::FrameHeader& header);

// The check for a principal that requests an operation through another interface (HTTP). `table`:
// as the request names it; empty: none. `need`: replaces the operation's, if only part of it is
// requested. PERMISSION_DENIED.
Result<void> check_access(const security::Principal& who, const OpSpec& spec, Bytes table,
                          std::optional<security::Need> need = std::nullopt);

// The security log entry of a refusal.
security::AuditEvent denial_event(const Session& session, const wire::FrameHeader& header,
                                  const Error& error);
// Makes the session log the reply of a request that the security log covers.
void log_change(const OpSpec& spec, const engine::TableMap& tables, Session& session,
                const wire::Frame& frame);

// Name of an operation for logs; the number if unknown.
std::string name_of(uint16_t op);

// The table that a request names in its body.
TableName name_in(const OpSpec& spec, Bytes body);
// The roles that a request requires.
security::Need need_of(const OpSpec& spec, Bytes body);

// Whether the list that `spec` answers includes this table. `who`: null if authentication is
// disabled.
bool is_shown(const security::Principal* who, const OpSpec& spec, Bytes table);

}  // namespace cellar::server
