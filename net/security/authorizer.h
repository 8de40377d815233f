// Authorizer: who is it, and may it? Knows no protocol; every door of the node asks it.
//
//   Authorizer authorizer(principals);
//   TRY(const Identity who, authorizer.by_token(token));
//   const Roles held = who.principal->roles_on("logs.2026");
//   TRY_VOID(allow(*who.principal, "DropTable", {{Role::schema}}, held, "table 'logs.2026'"));
//
// A refusal names the operation, the role that it needs and the table as the request named it, and
// never whether there is such a table.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/security/principals.h"

namespace cellar::security {

// Roles that an operation asks for: all of them, or any one.
struct Need {
  Roles roles;
  bool any = false;

  constexpr bool met_by(Roles held) const {
    return any ? held.has_any(roles) : held.has_all(roles);
  }
  std::string to_text() const { return security::to_text(roles, any ? "or" : "and"); }
};

// A principal, and what proved it: whether it still holds can be asked again.
struct Identity {
  std::shared_ptr<const Principal> principal;  // null: nobody
  std::optional<Digest> token;                 // its hash; absent: the certificate was the proof
  std::string certificate;

  explicit operator bool() const { return principal != nullptr; }
};

class Authorizer {
 public:
  explicit Authorizer(std::shared_ptr<const Principals> principals)
      : principals_(std::move(principals)) {}

  // UNAUTHENTICATED; the sentence is the same whatever is wrong with the token.
  Result<Identity> by_token(Bytes token) const;
  Result<Identity> by_certificate(std::string_view subject) const;
  // The same identity under the principals of now; nobody when its proof does not hold any more.
  Identity renew(const Identity& identity) const;

 private:
  std::shared_ptr<const Principals> principals_;
};

// PERMISSION_DENIED. `shown` is what the request called the table: "table 'x'", "table 17".
Result<void> allow(const Principal& principal, std::string_view operation, Need need, Roles held,
                   std::string_view shown);
// On the node as a whole: by grants of the empty prefix.
Result<void> allow_node(const Principal& principal, std::string_view operation, Need need);

}  // namespace cellar::security
