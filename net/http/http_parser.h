// HttpParser: parses the bytes of one connection into requests. The only user of Beast; does no
// I/O. Beast checks the syntax (chunks, contradictory lengths, control characters); this class
// adds: exactly one Host, a target that is a path, no body where none is allowed.
//
// The end of a body is never guessed, because a proxy could guess differently and forward as a body
// what the node would answer as a request. A Transfer-Encoding is exactly "chunked", in HTTP/1.1
// and without Content-Length; a Content-Length occurs once and is digits; a chunked body has no
// trailer fields. Everything else is refused and the connection ends.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "net/http/http_message.h"

namespace cellar::http {

class HttpParser {
 public:
  static constexpr size_t kMaxHeaderBytes = 8 * 1024;  // request line and headers
  static constexpr size_t kMaxBodyBytes = 1u << 20;
  // Of a chunked body with the heads of its chunks: more than 1 MiB of chunks of one byte.
  static constexpr size_t kMaxChunkedBytes = 8 * kMaxBodyBytes;

  HttpParser();
  ~HttpParser();

  enum class Step : uint8_t {
    need_more,  // call feed()
    request,    // call take()
    refused,    // see refusal(); the connection is unusable
  };
  // Adds received bytes.
  void feed(std::span<const std::byte> bytes);
  // Parses the bytes available.
  Step next();

  // The request found by next(). The parser then continues with the next one.
  HttpRequest take();
  bool keep_alive() const { return keep_alive_; }  // of the last request taken
  const HttpResponse& refusal() const { return refusal_; }

  // The state of the parser, for deadlines.
  bool begun() const;  // part of a request has arrived
  bool header_complete() const;

 private:
  struct State;
  Step refuse(int status, std::string_view why);
  Step check();
  Step check_framing();
  std::unique_ptr<State> state_;
  std::string unread_;
  bool keep_alive_ = true;
  bool refused_ = false;
  HttpResponse refusal_;
};

}  // namespace cellar::http
