// Authorizer: authenticates a client and checks its permissions. Independent of the protocol; every
// interface of the node uses it.
//
//   Authorizer authorizer(principals);
//   TRY(const Identity who, authorizer.by_token(token));
//   const Roles held = who.principal->roles_on("logs.2026");
//   TRY_VOID(allow(*who.principal, "DropTable", {{Role::schema}}, held, "table 'logs.2026'"));
//
// A refusal names the operation, the required role and the table as the request named it, but never
// reveals whether the table exists.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/security/principals.h"

namespace cellar::security {

// Roles that an operation requires: all of them, or any one.
struct Need {
  Roles roles;
  bool any = false;

  constexpr bool met_by(Roles held) const {
    return any ? held.has_any(roles) : held.has_all(roles);
  }
  std::string to_text() const { return security::to_text(roles, any ? "or" : "and"); }
};

// A principal and its proof, so that its validity can be checked again.
struct Identity {
  std::shared_ptr<const Principal> principal;  // null: unauthenticated
  std::optional<Digest> token;  // hash of the token; absent: authenticated by certificate
  std::string certificate;

  explicit operator bool() const { return principal != nullptr; }
};

class Authorizer {
 public:
  explicit Authorizer(std::shared_ptr<const Principals> principals)
      : principals_(std::move(principals)) {}

  // UNAUTHENTICATED; the message is the same for every fault of the token.
  Result<Identity> by_token(Bytes token) const;
  Result<Identity> by_certificate(std::string_view subject) const;
  // The same identity under the present principals; unauthenticated if its proof is no longer
  // valid.
  Identity renew(const Identity& identity) const;

 private:
  std::shared_ptr<const Principals> principals_;
};

// PERMISSION_DENIED. `shown` is the table as the request named it: "table 'x'", "table 17".
Result<void> allow(const Principal& principal, std::string_view operation, Need need, Roles held,
                   std::string_view shown);
// Checks permission on the whole node, which grants with an empty prefix give.
Result<void> allow_node(const Principal& principal, std::string_view operation, Need need);

}  // namespace cellar::security
