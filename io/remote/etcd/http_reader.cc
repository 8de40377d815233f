#include "io/remote/etcd/http_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

namespace cellar::etcd {

namespace beast = boost::beast;
namespace bhttp = boost::beast::http;

namespace {

// A chunk of one byte takes six on the wire.
constexpr size_t kMostPerBodyByte = 8;

}  // namespace

struct HttpReader::State {
  bhttp::response_parser<bhttp::string_body> parser;
};

HttpReader::HttpReader(size_t max_body) : state_(std::make_unique<State>()), max_body_(max_body) {
  auto& parser = state_->parser;
  parser.header_limit(kMaxHeaderBytes);
  parser.eager(false);  // stops after the header, so that it is checked before the body
  if (max_body > 0) {
    parser.body_limit(max_body);
  } else {
    parser.body_limit(boost::none);
  }
}
HttpReader::~HttpReader() = default;

bool HttpReader::has_status() const { return state_->parser.is_header_done(); }
int HttpReader::status() const { return static_cast<int>(state_->parser.get().result_int()); }
bool HttpReader::keeps_alive() const { return state_->parser.keep_alive() && unread_.empty(); }
std::string HttpReader::take_body() { return std::exchange(state_->parser.get().body(), {}); }

HttpReader::Step HttpReader::refuse(std::string why) {
  refusal_ = std::move(why);
  return Step::refused;
}

HttpReader::Step HttpReader::feed(std::span<const std::byte> bytes) {
  if (!refusal_.empty()) return Step::refused;
  begun_ = begun_ || !bytes.empty();
  unread_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return parse();
}

// Beast limits neither a header whose fields arrive in pieces, nor heads of chunks, nor trailers,
// and throws if a field is longer than 64 KiB. It is therefore given few bytes at a time.
HttpReader::Step HttpReader::parse() {
  auto& parser = state_->parser;
  size_t at = 0;
  while (at < unread_.size() && !parser.is_done()) {
    const size_t given = std::min(unread_.size() - at, kMaxHeaderBytes + 1);
    beast::error_code error;
    const bool in_header = !parser.is_header_done();
    const size_t used = parser.put(boost::asio::buffer(unread_.data() + at, given), error);
    at += used;
    (in_header ? header_bytes_ : fed_bytes_) += used;
    too_large_ = error == bhttp::error::body_limit ||
                 (max_body_ > 0 && fed_bytes_ > kMostPerBodyByte * max_body_ + kMaxHeaderBytes);
    if (too_large_) return refuse(fmt::format("an answer of more than {} bytes", max_body_));
    if (error && error != bhttp::error::need_more) {
      return refuse("the answer is not HTTP: " + error.message());
    }
    if (header_bytes_ > kMaxHeaderBytes) return refuse("the header of the answer is too long");
    if (parser.is_header_done() && !header_checked_) {
      header_checked_ = true;
      // Beast makes room for a length that is told; a stream has no bound that would limit it.
      if (max_body_ == 0 && !parser.chunked() && status() == 200) {
        return refuse("a stream that is not chunked");
      }
      if (max_body_ == 0 && !parser.chunked() && !parser.content_length()) {
        return refuse("a refusal without a length");
      }
      if (max_body_ == 0 && parser.content_length().value_or(0) > kMaxHeaderBytes) {
        return refuse("a refusal that is too long");
      }
    }
    if (used == 0) break;
  }
  unread_.erase(0, at);
  if (parser.is_done()) return Step::done;
  if (unread_.size() > kMaxHeaderBytes) {
    return refuse("a header, the head of a chunk or a trailer is too long");
  }
  return Step::more;
}

HttpReader::Step HttpReader::feed_end() {
  if (!refusal_.empty()) return Step::refused;
  beast::error_code error;
  if (state_->parser.is_header_done()) state_->parser.put_eof(error);
  if (error || !state_->parser.is_done()) return refuse("the connection ended amid the answer");
  return Step::done;
}

}  // namespace cellar::etcd
