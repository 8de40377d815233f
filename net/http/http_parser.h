// HttpParser: the bytes of one connection as requests. The only place that knows Beast; it does no
// input or output. Beast judges the form (chunks, lengths that contradict one another, control
// characters); what it leaves open is decided here: exactly one Host, a target that is a path, no
// body where none belongs.
//
// Where a body ends is never guessed, since a proxy before the node may guess otherwise and forward
// as a body what the node would answer as a request: a Transfer-Encoding is the one word chunked,
// in HTTP/1.1 and without a Content-Length beside it; a Content-Length is there once and is digits;
// a chunked body has no trailer fields. Anything else is refused, and the connection ends.
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

  HttpParser();
  ~HttpParser();

  enum class Step : uint8_t {
    need_more,  // feed() it
    request,    // take()
    refused,    // refusal() says why; the connection is of no further use
  };
  // Adds received bytes.
  void feed(std::span<const std::byte> bytes);
  // Goes on with what there is.
  Step next();

  // The request that next() has found. The parser is then at the next one.
  HttpRequest take();
  bool keep_alive() const { return keep_alive_; }  // of the last one taken
  const HttpResponse& refusal() const { return refusal_; }

  // Where it stands, for deadlines.
  bool begun() const;  // something of a request is there
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
