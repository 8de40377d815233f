#include "net/server/access/login.h"

#include "io/net/loopback.h"
#include "net/server/shard/local_shard.h"

namespace cellar::server {
namespace {

using security::AuditEvent;
using security::Identity;

AuditEvent login_event(const Session& session, std::string_view what, Bytes token,
                       std::string_view client_name) {
  AuditEvent event;
  event.event = what;
  event.address = session.peer();
  event.detail = fmt::format("client \"{}\"", client_name);
  if (!token.empty()) {
    event.detail += fmt::format(", token {}", security::token_fingerprint(token));
  } else if (!session.facts().certificate.empty()) {
    event.detail += fmt::format(", certificate {}", escape_bytes(session.facts().certificate, 256));
  }
  return event;
}

Result<Identity> prove(const SecurityPolicy& policy, const Session& session, Bytes token) {
  const security::Authorizer authorizer(policy.principals);
  const StreamFacts& facts = session.facts();
  if (!token.empty()) {
    if (!facts.encrypted && !is_loopback_peer(session.peer())) {
      return fail(Errc::unauthenticated,
                  "a token came in plain text from another machine; replace it, and use TLS");
    }
    return authorizer.by_token(token);
  }
  if (!facts.certificate.empty()) return authorizer.by_certificate(facts.certificate);
  return fail(Errc::unauthenticated, "the hello has no token, and no certificate was shown");
}

Async<void> refuse_late(Timers& timers, Session& session, wire::FrameHeader hello, Error error,
                        int64_t delay_us, bool last) {
  co_await sleep_us(timers, delay_us);
  session.reply_error(hello, error);
  if (!last) co_return;
  session.flush();
  session.close();
}

}  // namespace

bool log_in(LocalShard& shard, ShardSecurity& security, PeerLimiter& addresses, Session& session,
            const wire::FrameHeader& hello, Bytes token, std::string_view client_name) {
  const int64_t now_us = shard.timers().now_us();
  // A valid proof is always accepted: others behind the same address, or in its slot, may have
  // failed. Tokens are too long to be guessed.
  Result<Identity> identity = prove(security.policy(), session, token);
  const bool spent = session.failed_logins() >= kMaxLogins;  // it closes after its last answer
  const int64_t wait_us = addresses.refused_for_us(session.peer(), now_us);
  if (spent || (!identity && wait_us > 0)) {
    ++security.counters().logins_refused;
    Error error(Errc::resource_exhausted, "too many logins from this address have failed");
    session.reply_error(hello,
                        std::move(error).retry_after(static_cast<uint32_t>(wait_us / 1000 + 1)));
    return false;
  }
  if (identity) {
    ++security.counters().logins;
    AuditEvent event = login_event(session, "login", token, client_name);
    event.principal = identity->principal->name;
    security.audit(std::move(event));
    session.log_in(std::move(*identity));
    return true;
  }
  ++security.counters().login_failures;
  AuditEvent event = login_event(session, "login_failed", token, client_name);
  event.outcome = identity.error().message;
  security.audit_flood(std::move(event));
  const int64_t delay_us = addresses.login_failed(session.peer(), now_us);
  const bool last = session.login_failed() >= kMaxLogins;
  spawn(shard.executor(),
        refuse_late(shard.timers(), session, hello, std::move(identity).error(), delay_us, last));
  return false;
}

}  // namespace cellar::server
