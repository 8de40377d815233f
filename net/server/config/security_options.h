// What a node is told about its safety. See SECURITY.md.
#pragma once

#include <cstdint>
#include <string>

namespace cellar::server {

struct SecurityOptions {
  // Serve an address that others can reach without TLS and principals.
  bool insecure = false;
  // PEM files. With a certificate and its key connections are TLS; with `client_ca` certificates of
  // clients are asked for, which prove who they are.
  std::string certificate;
  std::string key;
  std::string client_ca;
  // TOML file of principals; empty: nobody is asked who he is.
  std::string principals;
  // The security log goes on in another file after so many bytes.
  uint64_t audit_file_bytes = 64u << 20;
  // Files of the security log that are kept.
  uint32_t audit_files = 16;

  bool tls() const { return !certificate.empty() || !key.empty(); }
};

}  // namespace cellar::server
