// HttpConnection: one connection, a request at a time. What was pipelined waits in the buffer, or
// in the peer's socket; nothing is read while an answer is on its way.
//
// Every phase has a deadline that does not move while bytes trickle in: so long it may be silent
// between requests, so long from the first byte of a request to the end of its headers, so long for
// its body, so long to take the answer. A timer closes the stream, which ends whatever is pending.
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
  static constexpr int64_t kLingerUs = 1'000'000;  // after a refusal, for what is still sent
  static constexpr size_t kLingerBytes = 1u << 20;
  static constexpr int kMaxRequests = 10'000;  // then it is closed

  // `open_routes_only`: its requests are marked so (HttpRequest::open_routes_only).
  HttpConnection(std::unique_ptr<ByteStream> stream, Timers& timers, HttpService& service,
                 bool open_routes_only = false);

  // Until it is over. Once.
  Async<void> run();
  // Its request is being answered: what it waits for is not its peer.
  bool at_work() const { return phase_ == Phase::answer; }
  // Since when it waits for its peer. REQUIRES: !at_work()
  int64_t waits_since_us() const { return phase_since_us_; }
  const std::string& network() const { return network_; }  // server::network_of() its peer
  void close() { stream_->close(); }
  // Ends at once, to make room.
  void drop() {
    dropped_ = true;
    close();
  }
  bool dropped() const { return dropped_; }
  // Ends after the answer that is on its way, at once when there is none.
  void finish();

 private:
  enum class Phase : uint8_t { idle, header, body, answer, write };
  Async<bool> read_request();
  Async<bool> send(const HttpResponse& response, bool with_body, bool keep_alive);
  Async<void> linger();
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
