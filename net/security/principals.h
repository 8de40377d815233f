// Principals: the known clients, their credentials and permissions. From a TOML file:
//
//   [[principal]]
//   name = "ingest"
//   tokens = ["sha256:..."]                 # up to two, for rotation
//   certificates = ["CN=ingest,O=Example"]  # subjects of client certificates in RFC 2253 form
//   [[principal.grant]]
//   prefix = "logs."                        # of table names, byte by byte; "" is every table
//   roles = ["read", "write"]
//
// Immutable. Any unknown item rejects the whole file: a misspelt key must not change permissions.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/base/bytes.h"
#include "net/security/roles.h"
#include "net/security/token.h"

namespace cellar::security {

struct Grant {
  std::string prefix;
  Roles roles;
};

struct Principal {
  static constexpr size_t kMaxNameBytes = 64;
  static constexpr size_t kMaxTokens = 2;
  static constexpr size_t kMaxCertificates = 8;
  static constexpr size_t kMaxGrants = 64;
  static constexpr size_t kMaxPrefixBytes = 1024;

  std::string name;
  std::vector<Grant> grants;
  std::vector<Digest> tokens;
  std::vector<std::string> certificates;

  Roles roles_on(Bytes table) const;
  Roles roles_everywhere() const { return roles_on({}); }
  Roles roles_anywhere() const;
  // Whether it has all permissions of `other`.
  bool covers(const Principal& other) const;
};

class Principals {
 public:
  static constexpr size_t kMaxPrincipals = 1000;
  static constexpr size_t kMaxFileBytes = 1u << 20;

  // INVALID_ARGUMENT names `origin`, the line and the fault.
  static Result<std::shared_ptr<const Principals>> parse(std::string_view text,
                                                         std::string_view origin);

  const std::vector<std::shared_ptr<const Principal>>& all() const { return all_; }
  std::shared_ptr<const Principal> named(std::string_view name) const;
  // Compares with every hash, so that the time does not depend on a match.
  std::shared_ptr<const Principal> with_token(const Digest& hash) const;
  std::shared_ptr<const Principal> with_certificate(std::string_view subject) const;

 private:
  Result<void> add(Principal principal);

  std::vector<std::shared_ptr<const Principal>> all_;
};

}  // namespace cellar::security
