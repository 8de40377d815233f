// Principals: who there is, what proves it, and what each may do. From a TOML file:
//
//   [[principal]]
//   name = "ingest"
//   tokens = ["sha256:..."]                 # up to two, so that one can take the other's place
//   certificates = ["CN=ingest,O=Example"]  # subjects of client certificates, as RFC 2253 has them
//   [[principal.grant]]
//   prefix = "logs."                        # of table names, byte by byte; "" is every table
//   roles = ["read", "write"]
//
// Immutable once made. Anything that is not understood refuses the whole file: a misspelt key must
// not leave a door open or shut.
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
  // It may do all that `other` may.
  bool covers(const Principal& other) const;
};

class Principals {
 public:
  static constexpr size_t kMaxPrincipals = 1000;
  static constexpr size_t kMaxFileBytes = 1u << 20;

  // INVALID_ARGUMENT names `origin`, the line, and what is wrong there.
  static Result<std::shared_ptr<const Principals>> parse(std::string_view text,
                                                         std::string_view origin);

  const std::vector<std::shared_ptr<const Principal>>& all() const { return all_; }
  std::shared_ptr<const Principal> named(std::string_view name) const;
  // Looks at every hash, whichever fits.
  std::shared_ptr<const Principal> with_token(const Digest& hash) const;
  std::shared_ptr<const Principal> with_certificate(std::string_view subject) const;

 private:
  Result<void> add(Principal principal);

  std::vector<std::shared_ptr<const Principal>> all_;
};

}  // namespace cellar::security
