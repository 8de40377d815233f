// Login: authentication in the hello of a node with principals, by token or, without a token, by
// client certificate.
//
// Limits: the reply to a failed login is delayed, and after PeerLimiter::kMaxFailures those of an
// address are refused at once for a while, but for a valid proof; after kMaxLogins failures a
// connection is closed. A token
// received in plain text from another machine is rejected even if valid, because it has been
// exposed.
#pragma once

#include <string>

#include "net/server/limits/peer_limiter.h"
#include "net/server/policy/shard_security.h"
#include "net/server/shard/session.h"

namespace cellar::server {

class LocalShard;

inline constexpr int kMaxLogins = 3;

// Answers the hello with a refusal, now or later (false), or leaves it to be answered by the caller
// (true).
bool log_in(LocalShard& shard, ShardSecurity& security, PeerLimiter& addresses, Session& session,
            const wire::FrameHeader& hello, Bytes token, std::string_view client_name);

}  // namespace cellar::server
