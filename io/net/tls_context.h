// TlsContext: what a side of TLS is made with: a certificate and its key, whom it believes, which
// versions it speaks. Immutable once made; streams keep the context that they began with, so a new
// certificate is put in place by making another context and giving it to new streams.
//
// TLS 1.2 and 1.3, forward secret ciphers, no compression, no renegotiation, no early data.
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
  std::string certificate = {};  // PEM: the server's, then those between it and the authority
  std::string key = {};          // PEM, without a passphrase
  std::string client_ca =
      {};  // PEM: who may sign certificates of clients; empty: none is asked for
};

struct TlsClientFiles {
  std::string ca = {};           // PEM: who may sign the server's; empty: what the system trusts
  std::string certificate = {};  // PEM; empty: none is shown
  std::string key = {};
  bool verify = true;  // false: any server is believed. For trials only
};

class TlsContext {
 public:
  static constexpr int64_t kSessionSeconds = 7200;         // for so long a session can be resumed
  static constexpr long kMaxCertificateBytes = 32 * 1024;  // that a peer may show, with its chain

  // INVALID_ARGUMENT names the file and what is wrong with it. May block: it reads files.
  static Result<std::shared_ptr<const TlsContext>> make_server(const TlsServerFiles& files);
  // It remembers the session of the last connection, so: for one server, on one loop.
  static Result<std::shared_ptr<const TlsContext>> make_client(const TlsClientFiles& files);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  bool is_server() const { return server_; }
  // Of the certificate shown: seconds since 1970 at which it ends, the first 8 bytes of its SHA-256
  // in hex. 0 and empty: none is shown.
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
  mutable ssl_session_st* session_ = nullptr;  // a client's, for the next connection
};

// The reasons that OpenSSL has noted on this thread, in one line; they are forgotten.
std::string take_tls_errors();

}  // namespace cellar
