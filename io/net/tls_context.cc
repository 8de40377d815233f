#include "io/net/tls_context.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <ctime>

namespace cellar {
namespace {

constexpr const char* kTls12Ciphers =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
constexpr unsigned char kSessionScope[] = "cellar";

// There is no terminal to ask for a passphrase.
int no_passphrase(char*, int, int, void*) { return 0; }

std::unexpected<Error> wrong_file(std::string_view what, const std::string& file) {
  return fail(Errc::invalid_argument, "{} '{}': {}", what, file, take_tls_errors());
}

int64_t seconds_of(const ASN1_TIME* time) {
  std::tm fields{};
  if (ASN1_TIME_to_tm(time, &fields) != 1) return 0;
  return static_cast<int64_t>(timegm(&fields));
}

std::string fingerprint_of(const X509* certificate) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (X509_digest(certificate, EVP_sha256(), digest, &size) != 1 || size < 8) return {};
  std::string hex;
  for (int i = 0; i < 8; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

SSL_CTX* new_context(bool server) {
  SSL_CTX* context = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
  if (context == nullptr) return nullptr;
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_cipher_list(context, kTls12Ciphers);
  SSL_CTX_set_max_cert_list(context, TlsContext::kMaxCertificateBytes);
  SSL_CTX_set_default_passwd_cb(context, no_passphrase);
  SSL_CTX_set_timeout(context, TlsContext::kSessionSeconds);
  return context;
}

}  // namespace

std::string take_tls_errors() {
  std::string text;
  // The first error is the cause; the others come from its callers.
  while (const unsigned long code = ERR_get_error()) {
    if (!text.empty()) continue;
    const char* reason = ERR_reason_error_string(code);
    text = reason != nullptr ? reason : fmt::format("error {:#x}", code);
  }
  return text.empty() ? "cannot be read" : text;
}

TlsContext::~TlsContext() {
  if (session_ != nullptr) SSL_SESSION_free(session_);
  SSL_CTX_free(context_);
}

Result<std::shared_ptr<const TlsContext>> TlsContext::make_server(const TlsServerFiles& files) {
  ERR_clear_error();
  SSL_CTX* raw = new_context(true);
  if (raw == nullptr) return fail(Errc::resource_exhausted, "TLS: {}", take_tls_errors());
  const std::shared_ptr<TlsContext> made(new TlsContext(raw, true));
  // Sessions live in tickets kept by the client; the ticket keys end with this context.
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_session_id_context(raw, kSessionScope, sizeof kSessionScope - 1);
  SSL_CTX_set_num_tickets(raw, 1);
  TRY_VOID(made->load_own(files.certificate, files.key));
  if (!files.client_ca.empty()) {
    TRY_VOID(made->load_authority(files.client_ca));
    STACK_OF(X509_NAME)* names = SSL_load_client_CA_file(files.client_ca.c_str());
    if (names == nullptr) return wrong_file("client authority", files.client_ca);
    SSL_CTX_set_client_CA_list(raw, names);
    SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
  }
  return made;
}

Result<std::shared_ptr<const TlsContext>> TlsContext::make_client(const TlsClientFiles& files) {
  ERR_clear_error();
  SSL_CTX* raw = new_context(false);
  if (raw == nullptr) return fail(Errc::resource_exhausted, "TLS: {}", take_tls_errors());
  const std::shared_ptr<TlsContext> made(new TlsContext(raw, false));
  if (files.ca.empty()) {
    SSL_CTX_set_default_verify_paths(raw);
  } else {
    TRY_VOID(made->load_authority(files.ca));
  }
  if (!files.certificate.empty() || !files.key.empty()) {
    TRY_VOID(made->load_own(files.certificate, files.key));
  }
  SSL_CTX_set_verify(raw, files.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_set_app_data(raw, made.get());
  SSL_CTX_sess_set_new_cb(raw, &TlsContext::keep_session);
  return made;
}

Result<void> TlsContext::load_own(const std::string& certificate, const std::string& key) {
  if (certificate.empty() || key.empty()) {
    return fail(Errc::invalid_argument, "a certificate and its key go together; the {} is missing",
                certificate.empty() ? "certificate" : "key");
  }
  if (SSL_CTX_use_certificate_chain_file(context_, certificate.c_str()) != 1) {
    return wrong_file("certificate", certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(context_, key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context_) != 1) {
    return wrong_file("key", key);
  }
  const X509* own = SSL_CTX_get0_certificate(context_);
  expires_s_ = seconds_of(X509_get0_notAfter(own));
  fingerprint_ = fingerprint_of(own);
  return {};
}

Result<void> TlsContext::load_authority(const std::string& file) {
  if (SSL_CTX_load_verify_file(context_, file.c_str()) != 1) return wrong_file("authority", file);
  return {};
}

int TlsContext::keep_session(ssl_st* ssl, ssl_session_st* session) {
  const auto* self = static_cast<const TlsContext*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
  if (self->session_ != nullptr) SSL_SESSION_free(self->session_);
  self->session_ = session;
  return 1;  // takes ownership
}

}  // namespace cellar
