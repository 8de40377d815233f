#include "io/net/tls_stream.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <optional>

#include "io/base/check.h"
#include "io/net/stream_deadline.h"

namespace cellar {
namespace {

constexpr size_t kHandshakeReadBytes = 4096;
// After a refused handshake.
constexpr int64_t kLingerUs = 1'000'000;
constexpr size_t kLingerBytes = 64 * 1024;

std::string subject_of(const X509* certificate) {
  BIO* text = BIO_new(BIO_s_mem());
  X509_NAME_print_ex(text, X509_get_subject_name(certificate), 0,
                     XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB);
  char* data = nullptr;
  const long size = BIO_get_mem_data(text, &data);
  std::string subject(data, static_cast<size_t>(size));
  BIO_free(text);
  return subject;
}

bool is_address(const std::string& host) {
  ASN1_OCTET_STRING* address = a2i_IPADDRESS(host.c_str());
  if (address == nullptr) return false;
  ASN1_OCTET_STRING_free(address);
  return true;
}

// Whether the peer rejected this side's certificate or requires one.
bool is_about_certificates(int reason) {
  switch (reason) {
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return true;
    default:
      return false;
  }
}

}  // namespace

TlsStream::TlsStream(std::unique_ptr<ByteStream> below, std::shared_ptr<const TlsContext> context)
    : below_(std::move(below)),
      context_(std::move(context)),
      ssl_(SSL_new(context_->context_)),
      in_(BIO_new(BIO_s_mem())),
      out_(BIO_new(BIO_s_mem())) {
  CHECK(ssl_ != nullptr && in_ != nullptr && out_ != nullptr, "no memory for a TLS connection");
  BIO_set_mem_eof_return(in_, -1);  // an empty buffer means: retry
  SSL_set_bio(ssl_, in_, out_);
  if (context_->is_server()) {
    SSL_set_accept_state(ssl_);
  } else {
    SSL_set_connect_state(ssl_);
  }
}

TlsStream::~TlsStream() {
  below_->close();
  SSL_free(ssl_);  // frees both buffers too
}

Result<void> TlsStream::prepare(Bytes received, const std::string& server_name) {
  if (!context_->is_server()) {
    const char* name = server_name.c_str();
    const bool address = is_address(server_name);
    const int set = address
                        ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), name)
                        : SSL_set1_host(ssl_, name) & (SSL_set_tlsext_host_name(ssl_, name) & 1);
    if (set != 1) return fail(Errc::invalid_argument, "'{}' is no name of a server", server_name);
    if (context_->session_ != nullptr) SSL_set_session(ssl_, context_->session_);
  }
  return feed(received);
}

Async<Result<void>> TlsStream::handshake(Bytes received, std::string server_name) {
  CO_TRY_VOID(prepare(received, server_name));
  size_t taken = received.size();
  while (true) {
    ERR_clear_error();
    const int status = SSL_do_handshake(ssl_);
    const bool wants = status != 1 && SSL_get_error(ssl_, status) == SSL_ERROR_WANT_READ;
    std::optional<Error> error;
    if (status != 1 && !wants) error = failure(status, "the TLS handshake failed");
    collect();
    CO_TRY_VOID(co_await send_sealed());
    if (error) co_return std::unexpected(std::move(*error));
    if (status == 1) break;
    std::array<std::byte, kHandshakeReadBytes> buffer;
    CO_TRY(const size_t n, co_await below_->read_some(buffer));
    if (n == 0) {
      co_return fail(Errc::unavailable,
                     "{} closed the connection during the TLS handshake; does it speak TLS?",
                     below_->peer());
    }
    taken += n;
    if (taken > kMaxHandshakeBytes) {
      co_return fail(Errc::unavailable, "{} sent more than {} bytes of TLS handshake",
                     below_->peer(), kMaxHandshakeBytes);
    }
    CO_TRY_VOID(feed(as_bytes_view(std::span(buffer).first(n))));
  }
  shaken_ = true;
  learn_peer();
  co_return Result<void>();
}

void TlsStream::learn_peer() {
  resumed_ = SSL_session_reused(ssl_) == 1;
  const X509* certificate = SSL_get0_peer_certificate(ssl_);
  if (certificate != nullptr && SSL_get_verify_result(ssl_) == X509_V_OK) {
    peer_subject_ = subject_of(certificate);
  }
}

std::string_view TlsStream::version() const { return SSL_get_version(ssl_); }

Result<void> TlsStream::feed(Bytes bytes) {
  if (bytes.empty()) return {};
  const int n = BIO_write(in_, bytes.data(), static_cast<int>(bytes.size()));
  if (n == static_cast<int>(bytes.size())) return {};
  return fail(Errc::resource_exhausted, "no memory for a TLS record");
}

void TlsStream::collect() {
  char* data = nullptr;
  const long size = BIO_get_mem_data(out_, &data);
  if (size <= 0) return;
  sealed_.append(data, static_cast<size_t>(size));
  (void)BIO_reset(out_);
}

Async<Result<void>> TlsStream::send_sealed() {
  writing_ = true;
  Result<void> sent;
  while (sent && !sealed_.empty()) {
    sending_.swap(sealed_);
    const Bytes part = sending_;
    sent = co_await below_->write({&part, 1});
    sending_.clear();
  }
  writing_ = false;
  co_return sent;
}

Result<void> TlsStream::try_send_sealed() {
  if (sealed_.empty()) return {};
  const Bytes part = sealed_;
  TRY(const size_t n, below_->try_write({&part, 1}));
  sealed_.erase(0, n);
  return {};
}

Error TlsStream::failure(int status, std::string_view what) const {
  const int kind = SSL_get_error(ssl_, status);
  const int reason = ERR_GET_REASON(ERR_peek_error());
  const long verdict = SSL_get_verify_result(ssl_);
  std::string text = take_tls_errors();
  Errc code = Errc::unavailable;
  if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED && verdict != X509_V_OK) {
    code = Errc::unauthenticated;
    text = fmt::format("the certificate of {} is not trusted: {}", below_->peer(),
                       X509_verify_cert_error_string(verdict));
    return Error(code, std::move(text));
  }
  if (is_about_certificates(reason)) code = Errc::unauthenticated;
  if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST) {
    text = "the other side does not speak TLS";
  }
  if (kind == SSL_ERROR_SYSCALL) text = "the connection broke";
  return Error(code, fmt::format("{} with {}: {}", what, below_->peer(), text));
}

Async<Result<size_t>> TlsStream::read_some(std::span<std::byte> into) {
  while (true) {
    if (closed_) co_return fail(Errc::cancelled, "{} was closed here", below_->peer());
    if (failed_) co_return fail(Errc::unavailable, "TLS with {} has failed", below_->peer());
    ERR_clear_error();
    size_t total = 0;
    size_t n = 0;
    int status = 1;
    while (total < into.size()) {
      status = SSL_read_ex(ssl_, into.data() + total, into.size() - total, &n);
      if (status != 1) break;
      total += n;
    }
    const int kind = status == 1 ? SSL_ERROR_NONE : SSL_get_error(ssl_, status);
    std::optional<Error> error;
    if (kind == SSL_ERROR_SSL || kind == SSL_ERROR_SYSCALL) error = failure(status, "TLS failed");
    collect();
    if (!writing_) CO_TRY_VOID(try_send_sealed());
    if (total > 0) {
      failed_ = error.has_value();
      co_return total;
    }
    if (kind == SSL_ERROR_ZERO_RETURN) co_return size_t{0};
    if (error) {
      failed_ = true;
      co_return std::unexpected(std::move(*error));
    }
    if (sealed_.size() > kMaxOwnBytes + kChunkBytes) {
      co_return fail(Errc::unavailable, "{} does not take the answers to its TLS messages",
                     below_->peer());
    }
    const auto room = into.first(std::min(into.size(), kChunkBytes));
    CO_TRY(const size_t got, co_await below_->read_some(room));
    if (got == 0) {
      co_return fail(Errc::unavailable, "{} ended the connection without a TLS goodbye",
                     below_->peer());
    }
    CO_TRY_VOID(feed(as_bytes_view(room.first(got))));
  }
}

Result<void> TlsStream::seal(Bytes plain) {
  ERR_clear_error();
  size_t n = 0;
  const int status = SSL_write_ex(ssl_, plain.data(), plain.size(), &n);
  if (status != 1 || n != plain.size()) {
    failed_ = true;
    return std::unexpected(failure(status, "TLS failed"));
  }
  collect();
  return {};
}

Async<Result<void>> TlsStream::write(std::span<const Bytes> parts) {
  if (closed_) co_return fail(Errc::cancelled, "{} was closed here", below_->peer());
  for (Bytes part : parts) {
    const size_t skip = std::min(owed_, part.size());
    owed_ -= skip;
    part.remove_prefix(skip);
    while (!part.empty()) {
      const Bytes piece = part.substr(0, kChunkBytes);
      part.remove_prefix(piece.size());
      if (closed_) co_return fail(Errc::cancelled, "{} was closed here", below_->peer());
      CO_TRY_VOID(seal(piece));
      if (sealed_.size() >= kChunkBytes) CO_TRY_VOID(co_await send_sealed());
    }
  }
  co_return co_await send_sealed();
}

Result<size_t> TlsStream::try_write(std::span<const Bytes> parts) {
  if (closed_) return fail(Errc::cancelled, "{} was closed here", below_->peer());
  TRY_VOID(try_send_sealed());
  size_t taken = 0;
  for (Bytes part : parts) {
    while (!part.empty()) {
      if (!sealed_.empty()) return taken;
      if (owed_ == 0) {
        const Bytes piece = part.substr(0, kChunkBytes);
        TRY_VOID(seal(piece));
        owed_ = piece.size();
        TRY_VOID(try_send_sealed());
        if (!sealed_.empty()) return taken;
      }
      const size_t done = std::min(owed_, part.size());
      owed_ -= done;
      taken += done;
      part.remove_prefix(done);
    }
  }
  return taken;
}

void TlsStream::close() {
  if (closed_) return;
  closed_ = true;
  if (shaken_ && !failed_ && !writing_ && sealed_.empty()) {
    ERR_clear_error();
    (void)SSL_shutdown(ssl_);
    collect();
    (void)try_send_sealed();
  }
  below_->close();
}

Async<Result<std::unique_ptr<TlsStream>>> tls_handshake(
    Timers& timers, std::unique_ptr<ByteStream> below, std::shared_ptr<const TlsContext> context,
    std::string received, std::string server_name, int64_t timeout_us) {
  ByteStream& raw = *below;
  auto stream = std::make_unique<TlsStream>(std::move(below), std::move(context));
  StreamDeadline deadline(timers, raw, timeout_us);
  Result<void> done = co_await stream->handshake(received, std::move(server_name));
  if (deadline.passed()) {
    co_return fail(Errc::deadline_exceeded, "{} did not finish its TLS handshake within {} ms",
                   raw.peer(), timeout_us / 1000);
  }
  if (done) co_return std::move(stream);
  co_await deadline.linger(std::min(kLingerUs, timeout_us), kLingerBytes);
  stream->close();
  co_return std::unexpected(std::move(done).error());
}

}  // namespace cellar
