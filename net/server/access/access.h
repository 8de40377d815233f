// Access: permission checks. Every request passes them in one place before its handler. Without
// principals everything is allowed.
//
// The table comes from the request: from the id in the header or the name in the body, which is
// verified for that. A request that fails verification is passed to its handler, which refuses it
// without effect.
#pragma once

#include "net/server/policy/permissions.h"
#include "net/server/shard/session.h"
#include "net/wire/frame.h"

namespace cellar::server {

// UNAUTHENTICATED or PERMISSION_DENIED, whether or not the table exists.
Result<void> check_access(ShardServer& shard, Session& session, const wire::Frame& frame);
// The check for a request of which only the header has arrived: refuses a principal that holds none
// of the roles that any body could require.
Result<void> check_access_of(ShardServer& shard, const Session& session,
                             const wire::FrameHeader& header);

// The check for a principal that requests operation `op` through another interface (HTTP). `table`:
// as the request names it; empty: none. `need`: replaces the permission's, if only part of the
// operation is requested. PERMISSION_DENIED.
Result<void> check_access(const security::Principal& who, uint16_t op, Bytes table,
                          std::optional<security::Need> need = std::nullopt);

// The security log entry of a refusal.
security::AuditEvent denial_event(const Session& session, const wire::FrameHeader& header,
                                  const Error& error);
// Makes the session log the reply of a request that the security log covers.
void log_change(ShardServer& shard, Session& session, const wire::Frame& frame);

// Name of an operation for logs; the number if unknown.
std::string name_of(uint16_t op);

// The roles that a request requires; those of AlterTable depend on its body.
security::Need need_of(const Permission& permission, Bytes body);

// Whether a list of tables includes this one. `who`: null if authentication is disabled.
bool is_shown(const security::Principal* who, wire::fb::Op op, Bytes table);
bool is_shown(const Session& session, wire::fb::Op op, Bytes table);

}  // namespace cellar::server
