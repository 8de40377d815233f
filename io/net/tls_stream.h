// TlsStream: TLS over any byte stream. OpenSSL sees memory only: what the stream below delivers is
// put into one buffer, what it has to send is taken from another, so nothing of it ever waits.
//
// Bounds. A record holds at most 16 KiB, and at most kChunkBytes are taken from the stream below or
// encrypted at one time, so a connection holds two such buffers. A handshake takes at most
// kMaxHandshakeBytes from its peer. What OpenSSL itself wants to say (an answer to a change of
// keys, an alert) is at most kMaxOwnBytes that the peer does not take.
//
// try_write() may have encrypted a piece that the stream below did not take whole. It then answers
// that the piece was not taken; by the contract of ByteStream the same bytes come first in the next
// write, which passes over what is encrypted already (`owed_`).
//
// The end. close() says close_notify if it can be said at once. A peer that ends without one is an
// error: what came before may have been cut off.
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

  // Once, before anything else. `received` are bytes that were read from the stream below already.
  // A client checks the server's certificate against `server_name`, a host name or an address.
  // Without a deadline: whoever waits closes the stream. Errors: UNAUTHENTICATED (a certificate is
  // not believed, by this side or the other), UNAVAILABLE (it ended, or no TLS was spoken).
  Async<Result<void>> handshake(Bytes received = {}, std::string server_name = {});

  // ---- after the handshake ----
  // Of the peer's certificate, which was checked, as RFC 2253 has it: "CN=a,O=b". Empty: it showed
  // none.
  const std::string& peer_subject() const { return peer_subject_; }
  bool resumed() const { return resumed_; }
  std::string_view version() const;  // "TLSv1.3"

  Async<Result<size_t>> read_some(std::span<std::byte> into) override;
  Async<Result<void>> write(std::span<const Bytes> parts) override;
  Result<size_t> try_write(std::span<const Bytes> parts) override;
  void close() override;
  std::string peer() const override { return below_->peer(); }

 private:
  Result<void> prepare(Bytes received, const std::string& server_name);
  Result<void> feed(Bytes bytes);
  void collect();  // what OpenSSL wants to send, behind sealed_
  // Everything of sealed_. Not while another write is under way.
  Async<Result<void>> send_sealed();
  Result<void> try_send_sealed();
  Result<void> seal(Bytes plain);
  Error failure(int status, std::string_view what) const;
  void learn_peer();

  std::unique_ptr<ByteStream> below_;
  const std::shared_ptr<const TlsContext> context_;
  ssl_st* ssl_;
  bio_st* in_;           // of ssl_
  bio_st* out_;          // of ssl_
  std::string sealed_;   // encrypted and not taken yet
  std::string sending_;  // what a write below is at
  size_t owed_ = 0;      // bytes that are encrypted, but were answered as not taken
  bool writing_ = false;
  bool closed_ = false;
  bool shaken_ = false;  // the handshake is done
  bool failed_ = false;
  bool resumed_ = false;
  std::string peer_subject_;
};

// A handshake within timeout_us; the stream below is closed when it fails, after the reason was
// sent. DEADLINE_EXCEEDED beside the errors of TlsStream::handshake.
Async<Result<std::unique_ptr<TlsStream>>> tls_handshake(
    Timers& timers, std::unique_ptr<ByteStream> below, std::shared_ptr<const TlsContext> context,
    std::string received, std::string server_name, int64_t timeout_us);

}  // namespace cellar
