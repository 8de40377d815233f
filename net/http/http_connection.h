// HttpConnection: one connection, one request at a time. Pipelined requests wait in the buffer or
// in the peer's socket; nothing is read while a reply is being sent.
//
// Each phase has a deadline that arriving bytes do not extend: idle time between requests, from the
// first byte to the end of the headers, the body, and the peer's reading of the reply. A timer
// closes the stream, which ends all pending operations.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "io/loop/timers.h"
#include "io/net/transport.h"
#include "net/http/http_parser.h"

namespace cellar::http {

class HttpConnection {
 public:
  static constexpr int64_t kIdleUs = 60'000'000;
  static constexpr int64_t kHeaderUs = 5'000'000;
  static constexpr int64_t kBodyUs = 30'000'000;
  static constexpr int64_t kWriteUs = 30'000'000;
  static constexpr int64_t kLingerUs = 1'000'000;  // after a refusal, for data still being sent
  static constexpr size_t kLingerBytes = 1u << 20;
  static constexpr int kMaxRequests = 10'000;  // then the connection is closed

  // `open_routes_only` is copied to its requests (HttpRequest::open_routes_only).
  HttpConnection(std::unique_ptr<ByteStream> stream, Timers& timers, HttpService& service,
                 bool open_routes_only = false);

  // Runs until the connection ends. Call once.
  Async<void> run();
  // Whether a request is being answered, so the connection does not wait for its peer.
  bool at_work() const { return phase_ == Phase::answer; }
  // Since when it has waited for its peer. REQUIRES: !at_work()
  int64_t waits_since_us() const { return phase_since_us_; }
  const std::string& network() const { return network_; }  // server::network_of() its peer
  void close() { stream_->close(); }
  // Ends at once to make room.
  void drop() {
    dropped_ = true;
    close();
  }
  bool dropped() const { return dropped_; }
  // Ends after the current reply, or at once if there is none.
  void finish();

 private:
  enum class Phase : uint8_t { idle, header, body, answer, write };
  Async<bool> read_request();
  Async<bool> send(const HttpResponse& response, bool with_body, bool keep_alive);
  void enter(Phase phase);

  std::unique_ptr<ByteStream> stream_;
  Timers& timers_;
  HttpService& service_;
  const bool open_routes_only_;
  const std::string peer_;
  const std::string network_;
  HttpParser parser_;
  std::array<std::byte, 4096> buffer_;
  Phase phase_ = Phase::idle;
  int64_t phase_since_us_;
  bool finishing_ = false;
  bool dropped_ = false;
  Timer deadline_;
};

}  // namespace cellar::http
