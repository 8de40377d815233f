// TlsStream: TLS over any byte stream. OpenSSL works on memory buffers: received bytes are put into
// one, bytes to send are taken from the other, so no call into OpenSSL blocks.
//
// Bounds. A record holds at most 16 KiB, and at most kChunkBytes are read or encrypted at a time,
// so a connection holds two such buffers. A handshake accepts at most kMaxHandshakeBytes from its
// peer. OpenSSL's own output (a key update, an alert) that the peer does not take is at most
// kMaxOwnBytes.
//
// try_write() may have encrypted a piece that the stream below did not take completely. It then
// reports the piece as not written; by the contract of ByteStream the next write starts with the
// same bytes and skips those already encrypted (`owed_`).
//
// Close. close() sends close_notify if that is possible without waiting. A peer that ends without
// close_notify is an error, because data may have been truncated.
#pragma once

#include <memory>
#include <string>

#include "io/loop/timers.h"
#include "io/net/tls_context.h"
#include "io/net/transport.h"

struct ssl_st;
struct bio_st;

namespace cellar {

class TlsStream final : public ByteStream {
 public:
  static constexpr size_t kChunkBytes = 16 * 1024;
  static constexpr size_t kMaxHandshakeBytes = 128 * 1024;
  static constexpr size_t kMaxOwnBytes = 64 * 1024;

  TlsStream(std::unique_ptr<ByteStream> below, std::shared_ptr<const TlsContext> context);
  ~TlsStream() override;

  // Call once, before all other methods. `received`: bytes already read from the stream below. A
  // client checks the server's certificate against `server_name`, a host name or an address. There
  // is no timeout; close() ends the wait. Errors: UNAUTHENTICATED (either side rejects a
  // certificate), UNAVAILABLE (the stream ended, or the peer does not speak TLS).
  Async<Result<void>> handshake(Bytes received = {}, std::string server_name = {});

  // ---- after the handshake ----
  // Subject of the peer's verified certificate in RFC 2253 form: "CN=a,O=b". Empty without one.
  const std::string& peer_subject() const { return peer_subject_; }
  bool resumed() const { return resumed_; }
  std::string_view version() const;  // "TLSv1.3"

  Async<Result<size_t>> read_some(std::span<std::byte> into) override;
  Async<Result<void>> write(std::span<const Bytes> parts) override;
  Result<size_t> try_write(std::span<const Bytes> parts) override;
  void close() override;
  std::string peer() const override { return below_->peer(); }
  bool detach() override { return below_->detach(); }
  Result<void> attach(ShardExecutor executor) override { return below_->attach(executor); }

 private:
  Result<void> prepare(Bytes received, const std::string& server_name);
  Result<void> feed(Bytes bytes);
  void collect();  // moves OpenSSL's output to the end of sealed_
  // Sends all of sealed_. No other write may be in progress.
  Async<Result<void>> send_sealed();
  Result<void> try_send_sealed();
  Result<void> seal(Bytes plain);
  Error failure(int status, std::string_view what) const;
  void learn_peer();

  std::unique_ptr<ByteStream> below_;
  const std::shared_ptr<const TlsContext> context_;
  ssl_st* ssl_;
  bio_st* in_;           // owned by ssl_
  bio_st* out_;          // owned by ssl_
  std::string sealed_;   // encrypted, not yet sent
  std::string sending_;  // buffer of the write in progress below
  size_t owed_ = 0;      // bytes encrypted but reported as not written
  bool writing_ = false;
  bool closed_ = false;
  bool shaken_ = false;  // handshake complete
  bool failed_ = false;
  bool resumed_ = false;
  std::string peer_subject_;
};

// Performs a handshake within timeout_us. On failure the stream below is closed after the alert was
// sent. Errors: DEADLINE_EXCEEDED and those of TlsStream::handshake.
Async<Result<std::unique_ptr<TlsStream>>> tls_handshake(
    Timers& timers, std::unique_ptr<ByteStream> below, std::shared_ptr<const TlsContext> context,
    std::string received, std::string server_name, int64_t timeout_us);

}  // namespace cellar
