// ShardSecurity: the security of one shard: the present policy, its counters, and its way to the
// security log.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "io/loop/mailbox.h"
#include "io/loop/timers.h"
#include "io/net/tls_context.h"
#include "net/security/principals.h"
#include "net/server/policy/audit_log.h"

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
  uint64_t logins_refused = 0;  // after too many failures, and not included in them
  uint64_t denials = 0;         // requests without the required role
  uint64_t sessions_revoked = 0;
};

class ShardSecurity {
 public:
  // Lines per second of audit_flood().
  static constexpr uint64_t kFloodPerS = 100;

  // Both belong to the shard and must outlive it.
  ShardSecurity(Mailbox& mailbox, Timers& timers) : mailbox_(mailbox), timers_(timers) {}

  const SecurityPolicy& policy() const { return policy_; }
  void set_policy(SecurityPolicy policy) { policy_ = std::move(policy); }
  // Without principals every request is permitted, and nothing is logged.
  bool has_principals() const { return policy_.principals != nullptr; }

  SecurityCounters& counters() { return counters_; }
  const SecurityCounters& counters() const { return counters_; }

  // Shared by all shards and owned by shard 0; null disables it.
  void set_log(std::shared_ptr<AuditLog> log) { log_ = std::move(log); }
  void audit(security::AuditEvent event);
  // Rate-limited variant for events that unauthenticated peers can trigger: at most kFloodPerS per
  // second, and one line for the rest.
  void audit_flood(security::AuditEvent event);

 private:
  Mailbox& mailbox_;
  Timers& timers_;
  SecurityPolicy policy_;
  SecurityCounters counters_;
  std::shared_ptr<AuditLog> log_;
  int64_t flood_second_ = 0;
  uint64_t flood_lines_ = 0;
  uint64_t flood_left_out_ = 0;
};

// Facts about a connection before its first frame.
struct StreamFacts {
  bool encrypted = false;
  std::string certificate;  // subject of the verified client certificate; empty: none
};

}  // namespace cellar::server
