#include "net/http/http_parser.h"

#include <algorithm>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

namespace cellar::http {

namespace beast = boost::beast;
namespace bhttp = boost::beast::http;

struct HttpParser::State {
  std::optional<bhttp::request_parser<bhttp::string_body>> parser;
  bool begun = false;
  size_t header_fields = 0;  // set when the header is complete
  size_t header_bytes = 0;   // passed to the parser
  size_t body_bytes = 0;     // the same, with the heads of chunks

  size_t fields() const {
    const auto& message = parser->get();
    return static_cast<size_t>(std::distance(message.begin(), message.end()));
  }
  void renew() {
    parser.emplace();
    parser->header_limit(kMaxHeaderBytes);
    parser->body_limit(kMaxBodyBytes);
    parser->eager(false);  // stops after the header, so that it is checked before the body
    begun = false;
    header_fields = 0;
    header_bytes = 0;
    body_bytes = 0;
  }
};

namespace {

std::string text_of(beast::string_view text) { return {text.data(), text.size()}; }

Method method_of(bhttp::verb verb) {
  switch (verb) {
    case bhttp::verb::get:
      return Method::get;
    case bhttp::verb::head:
      return Method::head;
    case bhttp::verb::post:
      return Method::post;
    case bhttp::verb::options:
      return Method::options;
    default:
      return Method::other;
  }
}

// A path of visible characters; no absolute form, authority, asterisk or fragment.
bool is_path(std::string_view target) {
  return target.starts_with('/') && std::ranges::all_of(target, [](char c) {
           return c > ' ' && c < '\x7f' && c != '#' && c != '\\';
         });
}

}  // namespace

HttpParser::HttpParser() : state_(std::make_unique<State>()) { state_->renew(); }
HttpParser::~HttpParser() = default;

void HttpParser::feed(std::span<const std::byte> bytes) {
  unread_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

bool HttpParser::begun() const { return state_->begun || !unread_.empty(); }
bool HttpParser::header_complete() const { return state_->parser->is_header_done(); }

HttpParser::Step HttpParser::refuse(int status, std::string_view why) {
  refused_ = true;
  refusal_ = error_response(status, status == 501 ? "UNIMPLEMENTED" : "INVALID_ARGUMENT", why);
  return Step::refused;
}

// Beast limits neither a header whose fields arrive in pieces, nor heads of chunks, nor trailers,
// and throws if a field is longer than 64 KiB. It is therefore given few bytes at a time.
HttpParser::Step HttpParser::next() {
  if (refused_) return Step::refused;
  auto& parser = *state_->parser;
  while (!unread_.empty() && !parser.is_done()) {
    size_t& bytes = parser.is_header_done() ? state_->body_bytes : state_->header_bytes;
    const size_t given = std::min(unread_.size(), kMaxHeaderBytes + 1);
    beast::error_code error;
    const size_t used = parser.put(boost::asio::buffer(unread_.data(), given), error);
    state_->begun = state_->begun || used > 0;
    bytes += used;
    unread_.erase(0, used);
    if (error == bhttp::error::header_limit || state_->header_bytes > kMaxHeaderBytes) {
      return refuse(431, "the request line and the headers take more than 8 KiB");
    }
    if (error == bhttp::error::body_limit || state_->body_bytes > kMaxChunkedBytes) {
      return refuse(413, "the body takes more than 1 MiB");
    }
    if (error && error != bhttp::error::need_more) {
      return refuse(400, "the request is not well-formed: " + error.message());
    }
    if (parser.is_header_done() && state_->header_fields == 0) {
      state_->header_fields = state_->fields();
      if (const Step step = check(); step == Step::refused) return step;
    }
    if (used == 0) break;
  }
  if (parser.is_done()) {
    // Beast adds trailer fields to those of the header.
    if (state_->fields() != state_->header_fields) {
      return refuse(400, "a chunked body has no trailer fields");
    }
    return Step::request;
  }
  if (!parser.is_header_done() && state_->header_bytes + unread_.size() > kMaxHeaderBytes) {
    return refuse(431, "the request line and the headers take more than 8 KiB");
  }
  if (unread_.size() > kMaxHeaderBytes) {
    return refuse(400, "the head of a chunk, or the trailer, takes more than 8 KiB");
  }
  return Step::need_more;
}

HttpParser::Step HttpParser::check_framing() {
  const auto& message = state_->parser->get();
  const size_t encodings = message.count(bhttp::field::transfer_encoding);
  const size_t lengths = message.count(bhttp::field::content_length);
  if (encodings > 0) {
    if (encodings > 1 ||
        !beast::iequals(message[bhttp::field::transfer_encoding], beast::string_view("chunked"))) {
      return refuse(501, "the only Transfer-Encoding is chunked");
    }
    if (lengths > 0) return refuse(400, "Transfer-Encoding and Content-Length contradict");
    if (message.version() < 11) return refuse(400, "HTTP/1.0 has no Transfer-Encoding");
  }
  if (lengths > 1) return refuse(400, "a request carries one Content-Length at most");
  if (lengths == 1 && !std::ranges::all_of(text_of(message[bhttp::field::content_length]),
                                           [](char c) { return c >= '0' && c <= '9'; })) {
    return refuse(400, "a Content-Length is digits");
  }
  return Step::need_more;
}

HttpParser::Step HttpParser::check() {
  const auto& message = state_->parser->get();
  if (const Step step = check_framing(); step == Step::refused) return step;
  if (message.count(bhttp::field::host) != 1 && message.version() >= 11) {
    return refuse(400, "a request carries exactly one Host");
  }
  if (message.method() == bhttp::verb::unknown) return refuse(501, "there is no such method");
  if (!is_path(text_of(message.target()))) {
    return refuse(400, "the target of a request is a path that begins with '/'");
  }
  const bool has_body = state_->parser->chunked() || state_->parser->content_length().value_or(0);
  if (has_body && method_of(message.method()) != Method::post) {
    return refuse(400, "only a POST has a body");
  }
  if (message.count(bhttp::field::expect) != 0) {
    return refuse(417, "send the body without waiting for leave");
  }
  if (message.count(bhttp::field::upgrade) != 0) return refuse(400, "nothing is upgraded here");
  return Step::need_more;
}

HttpRequest HttpParser::take() {
  auto message = state_->parser->release();
  keep_alive_ = message.keep_alive();
  state_->renew();
  HttpRequest request;
  request.method = method_of(message.method());
  const std::string target = text_of(message.target());
  const size_t mark = std::min(target.find('?'), target.size());
  request.path = target.substr(0, mark);
  if (mark < target.size()) request.query = target.substr(mark + 1);
  request.host = text_of(message[bhttp::field::host]);
  request.origin = text_of(message[bhttp::field::origin]);
  request.content_type = text_of(message[bhttp::field::content_type]);
  request.authorization = text_of(message[bhttp::field::authorization]);
  request.fetch_site = text_of(message["Sec-Fetch-Site"]);
  request.marked = message.count("X-Cellar-Request") != 0;
  request.body = std::move(message.body());
  return request;
}

}  // namespace cellar::http
