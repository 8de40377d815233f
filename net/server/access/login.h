// Login: the hello of a node that has principals. A token proves who it is, or where none is sent
// the client's certificate.
//
// Bounds: a failed login is answered late, and after AddressTable::kMaxFailures an address is
// refused unseen for a while; kMaxLogins of a connection may fail, then it is closed. A token that
// came in plain text from another machine is refused even if it is right: it is nobody's secret any
// more.
#pragma once

#include <string>

#include "net/server/shard/session.h"

namespace cellar::server {

inline constexpr int kMaxLogins = 3;

// Answers the hello with its refusal, now or later, or leaves it to be greeted (true).
bool log_in(ShardServer& shard, Session& session, const wire::FrameHeader& hello, Bytes token,
            std::string_view client_name);

}  // namespace cellar::server
