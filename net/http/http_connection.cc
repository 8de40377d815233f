#include "net/http/http_connection.h"

#include <fmt/format.h>

#include "io/net/stream_deadline.h"
#include "net/server/limits/peer_limiter.h"

namespace cellar::http {
namespace {

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Unknown";
  }
}

std::string head_of(const HttpResponse& response, bool keep_alive) {
  std::string head = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n"
      "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
      "Cross-Origin-Resource-Policy: same-origin\r\n",
      response.status, reason_of(response.status), response.content_type, response.body.size());
  bool has_cache = false;
  for (const auto& [name, value] : response.headers) {
    head += fmt::format("{}: {}\r\n", name, value);
    has_cache = has_cache || name == "Cache-Control";
  }
  if (!has_cache) head += "Cache-Control: no-store\r\n";
  head += keep_alive ? "\r\n" : "Connection: close\r\n\r\n";
  return head;
}

}  // namespace

HttpConnection::HttpConnection(std::unique_ptr<ByteStream> stream, Timers& timers,
                               HttpService& service, bool open_routes_only)
    : stream_(std::move(stream)),
      timers_(timers),
      service_(service),
      open_routes_only_(open_routes_only),
      peer_(stream_->peer()),
      network_(server::network_of(peer_)),
      phase_since_us_(timers.now_us()),
      deadline_(timers, [](void* self) { static_cast<HttpConnection*>(self)->close(); }, this) {}

void HttpConnection::enter(Phase phase) {
  if (phase == phase_ && deadline_.armed()) return;
  phase_ = phase;
  phase_since_us_ = timers_.now_us();
  switch (phase) {
    case Phase::idle:
      return deadline_.arm_after_us(kIdleUs);
    case Phase::header:
      return deadline_.arm_after_us(kHeaderUs);
    case Phase::body:
      return deadline_.arm_after_us(kBodyUs);
    case Phase::write:
      return deadline_.arm_after_us(kWriteUs);
    case Phase::answer:
      return deadline_.cancel();  // handlers have their own time limits
  }
}

void HttpConnection::finish() {
  finishing_ = true;
  if (phase_ != Phase::answer && phase_ != Phase::write) close();
}

// True if a request is ready or a refusal must be sent.
Async<bool> HttpConnection::read_request() {
  while (true) {
    if (parser_.next() != HttpParser::Step::need_more) co_return true;
    enter(!parser_.begun() ? Phase::idle : parser_.header_complete() ? Phase::body : Phase::header);
    if (finishing_) co_return false;
    const Result<size_t> n = co_await stream_->read_some(buffer_);
    if (!n || *n == 0) co_return false;
    parser_.feed(std::span(buffer_).first(*n));
  }
}

Async<void> HttpConnection::run() {
  for (int requests = 1; requests <= kMaxRequests; ++requests) {
    const bool more = co_await read_request();
    if (!more) break;
    if (parser_.next() == HttpParser::Step::refused) {
      const bool told = co_await send(parser_.refusal(), true, false);
      StreamDeadline deadline(timers_, *stream_, kLingerUs);
      if (told) co_await deadline.linger(kLingerUs, kLingerBytes);
      break;
    }
    HttpRequest request = parser_.take();
    request.peer = peer_;
    request.open_routes_only = open_routes_only_;
    enter(Phase::answer);
    const HttpResponse response = co_await service_.answer(request);
    const bool goes_on = parser_.keep_alive() && !finishing_ && requests < kMaxRequests;
    const bool sent = co_await send(response, request.method != Method::head, goes_on);
    if (!sent || !goes_on) break;
  }
  deadline_.cancel();
  stream_->close();
}

Async<bool> HttpConnection::send(const HttpResponse& response, bool with_body, bool keep_alive) {
  enter(Phase::write);
  const std::string head = head_of(response, keep_alive);
  const Bytes parts[] = {head, with_body ? Bytes(response.body) : Bytes()};
  const Result<void> sent = co_await stream_->write(parts);
  deadline_.cancel();
  co_return sent.has_value();
}

}  // namespace cellar::http
