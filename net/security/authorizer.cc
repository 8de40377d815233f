#include "net/security/authorizer.h"

#include <algorithm>

namespace cellar::security {

Result<Identity> Authorizer::by_token(Bytes token) const {
  // An overlong token is hashed too, so that all invalid tokens cost the same.
  const Digest hash = sha256(token.substr(0, kMaxTokenBytes));
  auto principal = principals_->with_token(hash);
  if (principal == nullptr || token.size() > kMaxTokenBytes) {
    return fail(Errc::unauthenticated, "the token is not one of this node's");
  }
  return Identity{std::move(principal), hash, {}};
}

Result<Identity> Authorizer::by_certificate(std::string_view subject) const {
  auto principal = principals_->with_certificate(subject);
  if (principal == nullptr) {
    return fail(Errc::unauthenticated, "no principal has the certificate '{}'",
                escape_bytes(subject, 256));
  }
  return Identity{std::move(principal), std::nullopt, std::string(subject)};
}

Identity Authorizer::renew(const Identity& identity) const {
  if (!identity) return {};
  auto principal = principals_->named(identity.principal->name);
  if (principal == nullptr) return {};
  const bool holds = identity.token
                         ? std::any_of(principal->tokens.begin(), principal->tokens.end(),
                                       [&](const Digest& token) {
                                         return equal_in_constant_time(token, *identity.token);
                                       })
                         : std::find(principal->certificates.begin(), principal->certificates.end(),
                                     identity.certificate) != principal->certificates.end();
  if (!holds) return {};
  return Identity{std::move(principal), identity.token, identity.certificate};
}

Result<void> allow(const Principal& principal, std::string_view operation, Need need, Roles held,
                   std::string_view shown) {
  if (need.met_by(held)) return {};
  return fail(Errc::permission_denied, "{} needs the role {} on {}, which '{}' does not have",
              operation, need.to_text(), shown, principal.name);
}

Result<void> allow_node(const Principal& principal, std::string_view operation, Need need) {
  return allow(principal, operation, need, principal.roles_everywhere(),
               "the whole node (prefix \"\")");
}

}  // namespace cellar::security
