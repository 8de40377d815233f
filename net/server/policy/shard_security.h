// The security state of a shard: the present policy and its counters.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "io/net/tls_context.h"
#include "net/security/principals.h"

namespace cellar::server {

// The same on every shard; replaced as a whole when files have changed.
struct SecurityPolicy {
  std::shared_ptr<const security::Principals> principals;  // null: authentication is disabled
  std::shared_ptr<const TlsContext> tls;                   // null: no TLS
};

// Counters of one shard.
struct SecurityCounters {
  uint64_t tls_handshakes = 0;  // completed
  uint64_t tls_resumed = 0;     // of these, resumed sessions
  uint64_t tls_handshake_failures = 0;
  uint64_t tls_handshake_timeouts = 0;  // not included in the failures
  uint64_t tls_plain_refused = 0;       // clients that did not use TLS
  uint64_t openings_refused = 0;        // connections above PeerLimiter::kMaxOpening
  uint64_t logins = 0;
  uint64_t login_failures = 0;
  uint64_t logins_refused = 0;  // without a check, after too many failures
  uint64_t denials = 0;         // requests without the required role
  uint64_t sessions_revoked = 0;
};

// Facts about a connection before its first frame.
struct StreamFacts {
  bool encrypted = false;
  std::string certificate;  // subject of the verified client certificate; empty: none
};

}  // namespace cellar::server
