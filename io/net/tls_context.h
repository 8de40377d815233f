// TlsContext: the TLS configuration of one side: certificate and key, trusted authorities,
// versions. Immutable. A stream keeps its context, so a new certificate is installed by making
// another context for new streams.
//
// TLS 1.2 and 1.3, forward secret ciphers, no compression, renegotiation or early data.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "io/base/result.h"

struct ssl_ctx_st;
struct ssl_session_st;
struct ssl_st;

namespace cellar {

struct TlsServerFiles {
  std::string certificate = {};  // PEM: the server's certificate, then the intermediates
  std::string key = {};          // PEM, without passphrase
  std::string client_ca = {};  // PEM: authorities for client certificates; empty: none is requested
};

struct TlsClientFiles {
  std::string ca = {};  // PEM: authorities for the server's certificate; empty: the system's
  std::string certificate = {};  // PEM; empty: no client certificate
  std::string key = {};
  bool verify = true;  // false: any server is accepted. For experiments only
};

class TlsContext {
 public:
  static constexpr int64_t kSessionSeconds = 7200;         // lifetime of a resumable session
  static constexpr long kMaxCertificateBytes = 32 * 1024;  // a peer's certificate with its chain

  // May block: it reads files. INVALID_ARGUMENT names the file and the fault.
  static Result<std::shared_ptr<const TlsContext>> make_server(const TlsServerFiles& files);
  // Remembers the session of the last connection, so use one context per server and loop.
  static Result<std::shared_ptr<const TlsContext>> make_client(const TlsClientFiles& files);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  bool is_server() const { return server_; }
  // Of this side's certificate: expiry in seconds since 1970, and the first 8 bytes of its SHA-256
  // in hex. 0 and empty without a certificate.
  int64_t expires_s() const { return expires_s_; }
  const std::string& fingerprint() const { return fingerprint_; }

 private:
  friend class TlsStream;
  TlsContext(ssl_ctx_st* context, bool server) : context_(context), server_(server) {}
  Result<void> load_own(const std::string& certificate, const std::string& key);
  Result<void> load_authority(const std::string& file);
  static int keep_session(ssl_st* ssl, ssl_session_st* session);

  ssl_ctx_st* context_;
  const bool server_;
  int64_t expires_s_ = 0;
  std::string fingerprint_;
  mutable ssl_session_st* session_ = nullptr;  // of a client, for the next connection
};

// Returns the errors that OpenSSL queued on this thread as one line and clears them.
std::string take_tls_errors();

}  // namespace cellar
