// Security settings of a node. See SECURITY.md.
#pragma once

#include <cstdint>
#include <string>

namespace cellar::server {

struct SecurityOptions {
  // Permits an address reachable by others without TLS and principals.
  bool insecure = false;
  // PEM files. `certificate` and `key` enable TLS; `client_ca` enables authentication by client
  // certificates.
  std::string certificate;
  std::string key;
  std::string client_ca;
  // TOML file of principals; empty: authentication is disabled.
  std::string principals;
  // Size at which the security log starts a new file.
  uint64_t audit_file_bytes = 64u << 20;
  // Number of security log files kept.
  uint32_t audit_files = 16;

  bool tls() const { return !certificate.empty() || !key.empty(); }
};

}  // namespace cellar::server
