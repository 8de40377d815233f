#include "net/server/config/listen_policy.h"

#include "io/net/loopback.h"
#include "io/net/transport.h"

namespace cellar::server {

Result<void> check_listen_policy(std::string_view address, const SecurityOptions& security) {
  if (security.tls() && (security.certificate.empty() || security.key.empty())) {
    return fail(Errc::failed_precondition,
                "TLS needs both security.certificate and security.key; {} is missing",
                security.key.empty() ? "security.key" : "security.certificate");
  }
  if (!security.client_ca.empty() && !security.tls()) {
    return fail(Errc::failed_precondition,
                "security.client_ca is set without security.certificate and security.key: clients "
                "show certificates over TLS only");
  }
  TRY(const Address parsed, parse_address(address));
  if (is_loopback(parsed.host)) return {};
  if (!security.principals.empty() && !security.tls()) {
    return fail(Errc::failed_precondition,
                "listen = \"{}\" can be reached from other machines, and tokens never travel in "
                "plain text: set security.certificate and security.key, or listen on 127.0.0.1",
                address);
  }
  if (security.insecure) return {};
  if (security.tls() && !security.principals.empty()) return {};
  std::string missing;
  if (!security.tls()) missing = "TLS (security.certificate and security.key)";
  if (security.principals.empty()) {
    missing += missing.empty() ? "" : " and ";
    missing += "principals (security.principals)";
  }
  return fail(Errc::failed_precondition,
              "listen = \"{}\" can be reached from other machines, and there is no {}. Set what is "
              "missing (net/server/SECURITY.md shows how), or listen on 127.0.0.1, or ask for a "
              "node that anybody may use by name: security.insecure = true (--insecure)",
              address, missing);
}

}  // namespace cellar::server
