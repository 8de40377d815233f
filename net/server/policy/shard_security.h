// What a shard knows of the node's safety: the policy of now, and what it has counted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "io/net/tls_context.h"
#include "net/security/principals.h"

namespace cellar::server {

// The same on every shard, replaced as a whole when files have changed.
struct SecurityPolicy {
  std::shared_ptr<const security::Principals> principals;  // null: nobody is asked who he is
  std::shared_ptr<const TlsContext> tls;                   // null: plain text
};

// Of one shard.
struct SecurityCounters {
  uint64_t tls_handshakes = 0;  // finished
  uint64_t tls_resumed = 0;     // of them, those that went on with an earlier session
  uint64_t tls_handshake_failures = 0;
  uint64_t tls_handshake_timeouts = 0;  // not among the failures
  uint64_t tls_plain_refused = 0;       // clients that did not speak TLS
  uint64_t openings_refused = 0;        // connections over AddressTable::kMaxOpening
  uint64_t logins = 0;
  uint64_t login_failures = 0;
  uint64_t logins_refused = 0;  // unseen, after too many failures
  uint64_t denials = 0;         // requests without the role they need
  uint64_t sessions_revoked = 0;
};

// What is known of a connection before its first frame.
struct StreamFacts {
  bool encrypted = false;
  std::string certificate;  // the subject of the client's, which was checked; empty: none
};

}  // namespace cellar::server
