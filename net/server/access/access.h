// Access: may this request be served? Asked of every request, in one place, before its handler: a
// handler cannot forget it. A node without principals asks nobody.
//
// The table is taken from the request, not from the handler: by the id in the header, or by the
// name in the body, which is verified for that. A request that the verifier refuses goes on to its
// handler, which refuses it again and changes nothing.
#pragma once

#include "net/server/policy/permissions.h"
#include "net/server/shard/session.h"
#include "net/wire/frame.h"

namespace cellar::server {

// UNAUTHENTICATED, PERMISSION_DENIED. The same whether the table exists or not.
Result<void> check_access(ShardServer& shard, Session& session, const wire::Frame& frame);
// The same of a request of which only the header is there: refuses a principal that has none of the
// roles, whatever the body says.
Result<void> check_access_of(ShardServer& shard, const Session& session,
                             const wire::FrameHeader& header);

// The same decision for a principal who asks by another interface (HTTP) for what the operation
// `op` of the protocol gives. `table`: as the request names it; empty: it names none. `need`: in
// place of the permission's, where only a part of the operation is asked for. PERMISSION_DENIED.
Result<void> check_access(const security::Principal& who, uint16_t op, Bytes table,
                          std::optional<security::Need> need = std::nullopt);

// What the security log says of a refusal.
security::AuditEvent denial_event(const Session& session, const wire::FrameHeader& header,
                                  const Error& error);
// Of a request that is served: its answer will be in the log if it changes what logs tell.
void log_change(ShardServer& shard, Session& session, const wire::Frame& frame);

// As logs call an operation; one that does not exist by its number.
std::string name_of(uint16_t op);

// Of what is in the request, where the table alone does not tell (AlterTable).
security::Need need_of(const Permission& permission, Bytes body);

// For answers that list tables: whether this one is shown. `who`: null where nobody is asked.
bool is_shown(const security::Principal* who, wire::fb::Op op, Bytes table);
bool is_shown(const Session& session, wire::fb::Op op, Bytes table);

}  // namespace cellar::server
